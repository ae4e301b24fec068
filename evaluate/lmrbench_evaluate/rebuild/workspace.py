"""Rebuild a repository from a dataset row and a prediction, and pack it with the cases and the runner for the sandbox.

The workspace holds the masked repository with the answer applied, the cases and the runner. It never holds the golden
file, the expected outputs or the variants: a sandbox cannot leak files that it does not have.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from lmrbench_data.base.limited import call_on_answer
from lmrbench_data.base.source import MalformedAnswerError, SourceError, python_text
from lmrbench_data.dataset.rows import DatasetRow, goals_of, is_method
from lmrbench_data.loader import File, LoadError, check_path, read_archive, tar_bytes
from lmrbench_data.tasks.experiments import FILES

from ..predictions.prediction import Prediction
from ..runner import runner_files
from ..sandbox.meter import wall_limit
from .answer import Spliced, check_goal_file, splice_function, splice_method
from .extract import MAX_ANSWER_BYTES
from .patch import MAX_PATCHED_DEPTH, MAX_PATCHED_FILES, apply_patch

#: Place of the repository in the workspace.
_REPO = "repo/"


def rebuild(row: DatasetRow, prediction: Prediction, notes: list[str] | None = None) -> dict[str, File]:
    """Return the files of the repository with the prediction applied; a child process parses the model's code.

    Args:
        notes: receives a line for each part of the answer that was left out.

    Raises:
        MalformedAnswerError: it cannot be applied, or leaves no goal function that can be parsed.
        InfraError: this machine cannot do it now.
    """
    masked, goals = read_archive(row["repo_archive"]), goals_of(row)
    files, form = dict(masked), prediction.form
    if prediction.problem:
        raise MalformedAnswerError(prediction.problem)
    try:
        size = len(prediction.content.encode("utf-8"))
    except UnicodeEncodeError as error:
        raise MalformedAnswerError(f"{form} is not valid Unicode: {error.reason}") from error
    if form == "model_patch":
        files = apply_patch(files, prediction.content, notes)
    elif size > MAX_ANSWER_BYTES:
        raise MalformedAnswerError(f"{form} is larger than {MAX_ANSWER_BYTES} bytes")
    elif form == "function" and is_method(row):
        _splice(files, splice_method, goals, goals, prediction.content, notes)
    elif form == "function":
        _splice(files, splice_function, goals, row["goal_function"], prediction.content, notes)
    elif form == "functions":
        for (path, name), source in _functions(prediction.content, goals):
            try:
                _splice(files, splice_function, [path], name, source, notes)
            except MalformedAnswerError as error:
                raise MalformedAnswerError(f"{path}::{name}: {error}") from None
    elif form == "files":
        files |= _files(prediction.content, masked)
    elif is_method(row):
        raise MalformedAnswerError("a method has several goal files; give `files`, an object of path and text")
    else:
        files[row["goal_file"]] = masked[row["goal_file"]]._replace(data=prediction.content.encode("utf-8"))
    _check_paths(files, masked)
    sources = _sources(files, masked, goals)
    if form not in ("function", "functions"):  # a spliced file has been checked already
        _check_goals(sources, goals)
    return files


def check_repository(row: DatasetRow, files: Mapping[str, File]) -> None:
    """Check a repository that somebody else has rebuilt, as `rebuild` checks an answer.

    Raises:
        MalformedAnswerError: it lacks a goal file or a goal function, or a changed file is not Python text.
        InfraError: this machine cannot do it now.
    """
    masked, goals = read_archive(row["repo_archive"]), goals_of(row)
    _check_paths(files, masked)
    _check_goals(_sources(files, masked, goals), goals)


def _sources(
    files: Mapping[str, File], masked: Mapping[str, File], goals: Mapping[str, Sequence[str]]
) -> dict[str, str]:
    """Return the texts of the goal files and of all Python files that differ from the masked repository's."""
    if gone := [path for path in goals if path not in files]:
        raise MalformedAnswerError(f"the answer removes the goal file {gone[0]}")
    changed = [name for name in files if name.endswith(".py") and files[name] != masked.get(name)]
    return {name: _source(name, files[name]) for name in sorted({*goals, *changed})}


def _check_goals(sources: Mapping[str, str], goals: Mapping[str, Sequence[str]]) -> None:
    for path, names in goals.items():
        for name in names:
            call_on_answer(check_goal_file, path, sources[path], name)


def _splice(
    files: dict[str, File],
    splice: Callable[..., Spliced],
    paths: Iterable[str],
    goals: object,
    answer: str,
    notes: list[str] | None,
) -> None:
    """Put an answer into goal files with a function of `answer`, which runs in a child."""
    texts, note = call_on_answer(splice, {path: files[path].data.decode("utf-8") for path in paths}, goals, answer)
    for path, text in texts.items():
        files[path] = files[path]._replace(data=text.encode("utf-8"))
    if note and notes is not None:
        notes.append(note)


def _functions(content: str, goals: Mapping[str, Sequence[str]]) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield (file, name) and source of each function of an answer in the form `functions`."""
    given = _texts("functions", content)
    known = {f"{path}::{name}": (path, name) for path, names in goals.items() for name in names}
    if unknown := given.keys() - known.keys():
        raise MalformedAnswerError(f"functions: {min(unknown)!r} is not masked; known are {', '.join(known)}")
    for key, place in known.items():
        if key in given:
            yield place, given[key]


def _files(content: str, masked: Mapping[str, File]) -> dict[str, File]:
    """Return the files of an answer in the form `files`."""
    given: dict[str, File] = {}
    for name, text in _texts("files", content).items():
        try:
            path = check_path(name)
        except LoadError as error:
            raise MalformedAnswerError(f"files: {error}") from None
        if path in given:
            raise MalformedAnswerError(f"files: {path[:100]!r} is there twice")
        try:
            given[path] = masked.get(path, File(b""))._replace(data=text.encode("utf-8"))
        except UnicodeEncodeError as error:
            raise MalformedAnswerError(f"files: {path[:100]!r} is not valid Unicode: {error.reason}") from error
    return given


def _check_paths(files: Mapping[str, File], masked: Mapping[str, File]) -> None:
    """Refuse new files that cannot be written beside the others, or are too many for the work folder."""
    new = files.keys() - masked.keys()
    if len(new) > MAX_PATCHED_FILES:
        raise MalformedAnswerError(f"the answer adds more than {MAX_PATCHED_FILES} files")
    folders = {str(parent) for path in files for parent in PurePosixPath(path).parents}
    if both := folders & files.keys():
        raise MalformedAnswerError(f"{min(both)[:100]!r} is both a file and a folder")
    for path in new:
        try:
            check_path(_REPO + path)
        except LoadError:
            raise MalformedAnswerError(f"the path {path[:100]!r}... is too long") from None
        if len(PurePosixPath(path).parts) > MAX_PATCHED_DEPTH:
            raise MalformedAnswerError(f"the path {path[:100]!r} is below more than {MAX_PATCHED_DEPTH} folders")


def _texts(form: str, content: str) -> dict[str, str]:
    """Return the texts of an answer that is a JSON object."""
    try:
        given = json.loads(content)
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict) or not all(isinstance(text, str) for text in given.values()):
        raise MalformedAnswerError(f"{form} must be an object of texts")
    return given


def _source(name: str, file: File) -> str:
    """Return the text of a Python file that an answer changes."""
    try:
        return python_text(file.data)
    except SourceError as error:
        raise MalformedAnswerError(f"{name}: {error}") from None


def has_tables(row: DatasetRow) -> bool:
    """Whether the paper of a row reports results in tables, by which open choices are settled."""
    return "cpu_budget_s" in row


def without_experiments(row: DatasetRow, repo: Mapping[str, File]) -> dict[str, File]:
    """Return the files of a rebuilt repository that its cases need: no answer may search the tables during its test."""
    return {name: file for name, file in repo.items() if not (has_tables(row) and name in FILES)}


def workspace_tar(
    repo: Mapping[str, File],
    cases: bytes,
    *,
    runs: Sequence[tuple[str, int]] | None,
    seeds: Sequence[int] = (),
    limit_s: float,
    answers: Sequence[Mapping[str, File]] = (),
    threads: int = 1,
) -> bytes:
    """Return the tar that the sandbox receives on stdin.

    Args:
        repo: files of the rebuilt repository.
        cases: source code of the cases.
        runs: (case, seed) in running order; None lists all cases and runs each with each of `seeds`.
        limit_s: CPU seconds of the run. The runner has somewhat higher limits of its own, in case the harness is gone.
        answers: files to try one set after the other in place of the repository's, each within an equal share of the
            time (`verdict.evaluator.run_batch`); every set has the same paths.
        threads: threads of numerical libraries; more than one only to see whether a task depends on their number.
    """
    # The harness is always first, however rarely a busy machine lets it check.
    ends = {"limit_s": int(limit_s) + 10, "wall_s": int(10 * wall_limit(limit_s))}
    plan: dict[str, Any] = {"runs": runs, "seeds": list(seeds), **ends, "threads": threads}
    extra = {f"answers/{i}/{name}": file for i, files in enumerate(answers) for name, file in files.items()}
    if answers:
        plan["answers"] = [(str(i), limit_s / len(answers)) for i in range(len(answers))]
    harness = {f"harness/{name}": File(content) for name, content in runner_files().items()}
    files = {_REPO + name: file for name, file in repo.items()}
    return tar_bytes(
        {
            **files,
            **extra,
            **harness,
            "harness/plan.json": File(json.dumps(plan).encode("ascii")),
            "tests/cases.py": File(cases),
        }
    )
