"""Rebuild a repository from a dataset row and a prediction, and pack it with the cases for the sandbox.

The workspace holds the masked repository with the answer applied, the cases and the plan of runs. It never holds the
golden file, the expected outputs or the variants: a sandbox cannot leak files that it does not have.
"""

import ast
import contextlib
import functools
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import PurePosixPath

from lmrbench_data.base.archive import tar_bytes
from lmrbench_data.base.configurations import configuration_of
from lmrbench_data.base.limited_calls import call_on_answer
from lmrbench_data.base.source import MalformedAnswerError, SourceError, parse, python_text
from lmrbench_data.base.text import one_line
from lmrbench_data.dataset.rows import DatasetRow, goals_of
from lmrbench_data.loader import File, LoadError, check_path, read_archive
from lmrbench_data.tasks.experiments import FILES

from ..predictions.prediction import Prediction, too_large
from ..sandbox.meter import wall_limit
from .answer import Spliced, check_goal_file, splice_function, splice_method
from .patch import MAX_PATCHED_DEPTH, MAX_PATCHED_FILES, apply_patch

_REPO = "repo/"


def rebuild(
    row: DatasetRow, prediction: Prediction, notes: list[str] | None = None
) -> dict[str, File]:
    """Return the files of the repository with the prediction applied; a child process parses the model's code.

    Args:
        notes: receives a line for each part of the answer that was left out.

    Raises:
        MalformedAnswerError: it cannot be applied, or leaves no goal function that can be parsed.
        InfraError: this machine cannot do it now.
    """
    masked, goals = read_archive(row["repo_archive"]), goals_of(row)
    files, form, is_method = dict(masked), prediction.form, configuration_of(row).is_method
    notes = [] if notes is None else notes
    if prediction.problem:
        raise MalformedAnswerError(prediction.problem)
    try:
        # The prose of a reply may hold halves of characters; its code is checked when it is parsed.
        prediction.content.encode("utf-8", "surrogatepass" if form == "function" else "strict")
    except UnicodeEncodeError as error:
        raise MalformedAnswerError(f"{form} is not valid Unicode: {error.reason}") from error
    if problem := too_large(form, prediction.content):
        raise MalformedAnswerError(problem)
    if form == "model_patch":
        files = apply_patch(files, prediction.content, notes)
    elif form == "function":
        splice, of = (
            (splice_method, goals) if is_method else (splice_function, row["goal_function"])
        )
        try:
            _splice(files, splice, goals, of, prediction.content, notes, prediction.is_cut)
        except MalformedAnswerError as error:
            raise MalformedAnswerError(_full_reason(str(error), prediction)) from None
        notes += [f"{prediction.cut}, after the answer"] if prediction.cut else []
    elif form == "files":
        for name, text in json.loads(prediction.content).items():
            path = str(PurePosixPath(name))
            files[path] = masked.get(path, File(b""))._replace(data=text.encode("utf-8"))
    elif is_method:
        raise MalformedAnswerError(
            "a method has several goal files; use `files`, an object of path and text"
        )
    else:
        files[row["goal_file"]] = masked[row["goal_file"]]._replace(
            data=prediction.content.encode("utf-8")
        )
    check_repository(row, files)
    return files


def _full_reason(reason: str, prediction: Prediction) -> str:
    """Return the reason why a reply cannot be applied, with what its row says about it, such as a call of a tool."""
    stated = (prediction.metadata or {}).get("problem")
    if isinstance(stated, str) and stated.endswith(f": {reason}"):
        return one_line(stated)
    return f"{prediction.cut} ({reason})" if prediction.cut else reason


def check_repository(row: DatasetRow, files: Mapping[str, File]) -> None:
    """Check a rebuilt repository: new files can be written, goal files and all changed Python files can be read.

    Raises:
        MalformedAnswerError: it lacks a goal file or a goal function, or a changed file is not Python text.
        InfraError: this machine cannot do it now.
    """
    masked, goals = read_archive(row["repo_archive"]), goals_of(row)
    _check_paths(files, masked)
    if gone := [path for path in goals if path not in files]:
        raise MalformedAnswerError(f"the answer removes the goal file {gone[0]}")
    for name, file in sorted(files.items()):
        if name in goals or (name.endswith(".py") and file != masked.get(name)):
            try:
                text = python_text(file.data)
            except SourceError as error:
                raise MalformedAnswerError(f"{name}: {error}") from None
            if name in goals:
                call_on_answer(check_goal_file, name, text, goals[name])


def _splice(
    files: dict[str, File],
    splice: Callable[..., Spliced],
    paths: Iterable[str],
    goals: object,
    answer: str,
    notes: list[str],
    is_cut: bool = False,
) -> None:
    """Put an answer into goal files with a function of `answer`, which runs in a child."""
    masked = {path: files[path].data.decode("utf-8") for path in paths}
    texts, note = call_on_answer(splice, masked, goals, answer, is_cut)
    for path, text in texts.items():
        files[path] = files[path]._replace(data=text.encode("utf-8"))
    notes += [note] if note else []


def _check_paths(files: Mapping[str, File], masked: Mapping[str, File]) -> None:
    """Refuse new files that cannot be written beside the others, or are too many for the work folder."""
    new = files.keys() - masked.keys()
    if len(new) > MAX_PATCHED_FILES:
        raise MalformedAnswerError(f"the answer adds more than {MAX_PATCHED_FILES} files")
    for path in new:
        try:
            plain = check_path(_REPO + path)
        except LoadError as error:
            raise MalformedAnswerError(str(error)) from None
        if plain != _REPO + path or path.count("/") > MAX_PATCHED_DEPTH:
            raise MalformedAnswerError(
                f"the path {path[:100]!r} is not plain, or below {MAX_PATCHED_DEPTH} folders"
            )
    # Only now: the parents of an unchecked path may be gigabytes.
    folders = {str(parent) for path in files for parent in PurePosixPath(path).parents}
    if both := folders & files.keys():
        raise MalformedAnswerError(f"{min(both)[:100]!r} is both a file and a folder")


def without_experiments(row: DatasetRow, repo: Mapping[str, File]) -> dict[str, File]:
    """Return the files of a rebuilt repository that its cases need: no answer may search the tables during its test."""
    return _needed(repo, configuration_of(row).has_experiments)


def _needed(repo: Mapping[str, File], has_experiments: bool) -> dict[str, File]:
    return {name: file for name, file in repo.items() if not (has_experiments and name in FILES)}


def workspace_tar(
    repo: Mapping[str, File],
    cases: bytes,
    *,
    runs: Sequence[tuple[str, int]] | None,
    seeds: Sequence[int] = (),
    limit_s: float,
    threads: int = 1,
    together: bool = False,
) -> bytes:
    """Return the tar that the sandbox receives on stdin.

    Args:
        repo: files of the rebuilt repository.
        cases: source code of the cases.
        runs: (case, seed) in running order; None lists all cases and runs each with each of `seeds`.
        limit_s: CPU seconds of the run. The runner has somewhat higher limits of its own, in case the harness is gone.
        threads: threads of numerical libraries; more than one only to see whether a task depends on their number.
        together: run all cases in one process, which is faster and never official.
    """
    # The harness is always first, however rarely a busy machine lets it check.
    ends = {"limit_s": int(limit_s) + 10, "wall_s": int(10 * wall_limit(limit_s))}
    plan = {"runs": runs, "seeds": list(seeds), **ends, "threads": threads, "together": together}
    return tar_bytes(
        {
            **{_REPO + name: file for name, file in repo.items()},
            "plan.json": File(json.dumps(plan).encode("ascii")),
            "tests/cases.py": File(cases),
        }
    )


def libraries_of(row: DatasetRow) -> Sequence[str]:
    """Return the libraries, with their submodules, that the masked repository and the cases of a row import."""
    return _libraries(
        row["repo_archive"], row["tests_archive"], configuration_of(row).has_experiments
    )


@functools.lru_cache(maxsize=128)
def _libraries(repo_archive: bytes, tests_archive: bytes, has_experiments: bool) -> Sequence[str]:
    repo = _needed(read_archive(repo_archive), has_experiments)
    return imported_by(repo, read_archive(tests_archive)["cases.py"].data)


def imported_by(repo: Mapping[str, File], cases: bytes) -> list[str]:
    """Return the libraries, with their submodules, that a repository without an answer and its cases import."""
    imported = {"numpy.random"}  # which the runner seeds
    for path, file in [*repo.items(), ("cases.py", File(cases))]:
        with contextlib.suppress(SourceError):  # the jobs report it if anything imports it
            for node in ast.walk(parse(python_text(file.data))) if path.endswith(".py") else ():
                if isinstance(node, ast.Import):
                    imported.update(alias.name for alias in node.names)
                elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                    imported.update(
                        (node.module, *(f"{node.module}.{alias.name}" for alias in node.names))
                    )
    own = {path.split("/")[0].removesuffix(".py") for path in repo} | {"lmrbench_cases"}
    return sorted(name for name in imported if name.split(".")[0] not in own)
