"""Rebuild a repository from a dataset row and a prediction, and pack it for the sandbox.

The workspace holds the masked repository with the answer applied, the cases and the plan of runs.
It never holds the golden file, the expected outputs or the variants: a sandbox cannot leak files
that it does not have.
"""

import ast
import contextlib
import functools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from lmrbench_data.base.archive import tar_bytes
from lmrbench_data.base.configurations import configuration_of
from lmrbench_data.base.limited_calls import call_on_answer
from lmrbench_data.base.source import MalformedAnswerError, SourceError, parse, python_text
from lmrbench_data.base.text import one_line
from lmrbench_data.dataset.rows import DatasetRow, goals_of, golden_files_of
from lmrbench_data.loader import File, LoadError, check_path, read_archive
from lmrbench_data.tasks.experiments import FILES

from ..predictions.prediction import Prediction, too_large
from ..sandbox.meter import wall_limit
from .answer import Spliced, check_goal_file, splice_function, splice_method
from .patch import MAX_PATCHED_DEPTH, MAX_PATCHED_FILES, apply_patch
from .reach import reachable

_REPO = "repo/"
_CASES = "cases.py"
_OPTIMISER = re.compile(r"\btorch\.optim\b|\bfrom torch import .*\boptim\b")
#: Torch imports its compiler for the first optimiser: a CPU second, in every case that makes one.
_LOADED_BY_OPTIMISERS = "torch._dynamo"


def rebuild(
    row: DatasetRow, prediction: Prediction, notes: list[str] | None = None
) -> dict[str, File]:
    """Return the files of the repository with the prediction applied.

    A child process parses the model's code.

    Args:
        notes: receives a line for each part of the answer that was left out.

    Raises:
        MalformedAnswerError: it cannot be applied, or leaves no goal function that can be parsed.
        InfraError: this machine cannot do it now.
    """
    masked = read_archive(row["repo_archive"])
    notes = [] if notes is None else notes
    _check_content(prediction)
    match prediction.form:
        case "model_patch":
            files = apply_patch(masked, prediction.content, notes)
        case "function":
            files = {**masked, **_splice(row, masked, prediction, notes)}
        case "files":
            files = {**masked, **_replaced(masked, json.loads(prediction.content))}
        case _:
            if configuration_of(row).is_method:
                fix = "use `files`, an object of path and text"
                raise MalformedAnswerError(f"a method has several goal files; {fix}")
            files = {**masked, **_replaced(masked, {row["goal_file"]: prediction.content})}
    check_repository(row, files)
    return files


def _check_content(prediction: Prediction) -> None:
    """Refuse an answer with a problem, with text that is not Unicode, or that is too large."""
    form = prediction.form
    if prediction.problem:
        raise MalformedAnswerError(prediction.problem)
    try:
        # The prose of a reply may hold halves of characters; its code is checked when it is parsed.
        prediction.content.encode("utf-8", "surrogatepass" if form == "function" else "strict")
    except UnicodeEncodeError as error:
        raise MalformedAnswerError(f"{form} is not valid Unicode: {error.reason}") from error
    problem = too_large(form, prediction.content)
    if problem:
        raise MalformedAnswerError(problem)


def _splice(
    row: DatasetRow, masked: Mapping[str, File], prediction: Prediction, notes: list[str]
) -> dict[str, File]:
    """Return the goal files with the functions of a reply in them; a child does the work."""
    texts = {path: masked[path].data.decode("utf-8") for path in goals_of(row)}
    try:
        files, note = _call_splice(row, texts, prediction)
    except MalformedAnswerError as error:
        raise MalformedAnswerError(_full_reason(str(error), prediction)) from None
    cut = f"{prediction.cut}, after the answer" if prediction.cut else ""
    notes += filter(None, [note, cut])
    return _replaced(masked, files)


def _call_splice(row: DatasetRow, texts: Mapping[str, str], prediction: Prediction) -> Spliced:
    answer = prediction.content
    is_cut = prediction.is_cut
    if configuration_of(row).is_method:
        spliced = call_on_answer(splice_method, texts, goals_of(row), answer, is_cut)
    else:
        spliced = call_on_answer(splice_function, texts, row["goal_function"], answer, is_cut)
    return Spliced(*spliced)


def _full_reason(reason: str, prediction: Prediction) -> str:
    """Return why a reply cannot be applied, with what its row says, such as a call of a tool."""
    stated = (prediction.metadata or {}).get("problem")
    if isinstance(stated, str) and stated.endswith(f": {reason}"):
        return one_line(stated)
    return f"{prediction.cut} ({reason})" if prediction.cut else reason


def _replaced(masked: Mapping[str, File], texts: Mapping[str, str]) -> dict[str, File]:
    """Return files with other texts; they keep their other properties."""
    files = {}
    for name, text in texts.items():
        path = str(PurePosixPath(name))
        files[path] = masked.get(path, File(b""))._replace(data=text.encode("utf-8"))
    return files


def check_repository(row: DatasetRow, files: Mapping[str, File]) -> None:
    """Check that new files can be written, and goal files and changed Python files can be read.

    Raises:
        MalformedAnswerError: it lacks a goal file or a goal function, or a changed file is not
            Python text.
        InfraError: this machine cannot do it now.
    """
    masked = read_archive(row["repo_archive"])
    goals = goals_of(row)
    _check_paths(files, masked)
    for path in goals:
        if path not in files:
            raise MalformedAnswerError(f"the answer removes the goal file {path}")
    for name, file in sorted(files.items()):
        if name in goals:
            text = _read_python(name, file)
            call_on_answer(check_goal_file, name, text, goals[name])
        elif name.endswith(".py") and file != masked.get(name):
            _read_python(name, file)


def _read_python(name: str, file: File) -> str:
    try:
        return python_text(file.data)
    except SourceError as error:
        raise MalformedAnswerError(f"{name}: {error}") from None


def _check_paths(files: Mapping[str, File], masked: Mapping[str, File]) -> None:
    """Refuse new files that cannot be written beside the others, or are too many."""
    new = files.keys() - masked.keys()
    if len(new) > MAX_PATCHED_FILES:
        raise MalformedAnswerError(f"the answer adds more than {MAX_PATCHED_FILES} files")
    for path in new:
        _check_new_path(path)
    # Only now: the parents of an unchecked path may be gigabytes.
    folders = {str(parent) for path in files for parent in PurePosixPath(path).parents}
    both = folders & files.keys()
    if both:
        raise MalformedAnswerError(f"{min(both)[:100]!r} is both a file and a folder")


def without_experiments(repo: Mapping[str, File], has_experiments: bool) -> dict[str, File]:
    """Return the files of a rebuilt repository that its cases need.

    No answer may search the tables of experiments during its test.
    """
    hidden = FILES if has_experiments else ()
    return {name: file for name, file in repo.items() if name not in hidden}


def _check_new_path(path: str) -> None:
    try:
        plain = check_path(_REPO + path)
    except LoadError as error:
        raise MalformedAnswerError(str(error)) from None
    if plain != _REPO + path or path.count("/") > MAX_PATCHED_DEPTH:
        problem = f"is not plain, or below {MAX_PATCHED_DEPTH} folders"
        raise MalformedAnswerError(f"the path {path[:100]!r} {problem}")


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
        runs: (case, seed) in running order; None runs all cases, each with each of `seeds`.
        limit_s: CPU seconds of the run. The runner has somewhat higher limits, in case the harness
            is gone.
        threads: threads of numerical libraries; more than one only to see whether a task depends on
            their number.
        together: run all cases in one process, which is faster and never official.
    """
    # The harness is always first, however rarely a busy machine lets it check.
    plan = {
        "runs": runs,
        "seeds": list(seeds),
        "limit_s": int(limit_s) + 10,
        "wall_s": int(10 * wall_limit(limit_s)),
        "threads": threads,
        "together": together,
    }
    files = {_REPO + name: file for name, file in repo.items()}
    files["plan.json"] = File(json.dumps(plan).encode("ascii"))
    files["tests/cases.py"] = File(cases)
    return tar_bytes(files)


def libraries_of(row: DatasetRow) -> Sequence[str]:
    """Return the libraries that the reference's repository and the cases of a row load."""
    has_experiments = configuration_of(row).has_experiments
    golden = tuple(golden_files_of(row).items())
    return _libraries(row["repo_archive"], golden, row["tests_archive"], has_experiments)


@functools.lru_cache(maxsize=128)
def _libraries(
    repo_archive: bytes,
    golden: Sequence[tuple[str, str]],
    tests_archive: bytes,
    has_experiments: bool,
) -> Sequence[str]:
    repo = without_experiments(read_archive(repo_archive), has_experiments)
    repo |= {path: File(text.encode(errors="replace")) for path, text in golden}
    return libraries_in(repo, read_archive(tests_archive)[_CASES].data)


def libraries_in(repo: Mapping[str, File], cases: bytes) -> list[str]:
    """Return the libraries, with their submodules, that a repository and its cases load."""
    texts = _python_texts({**repo, _CASES: File(cases)})
    names = {"numpy.random"}  # which the runner seeds
    for text in texts.values():
        with contextlib.suppress(SourceError):  # the jobs report it if anything imports it
            names.update(_imports(parse(text)))
    if _may_optimise(texts):
        names.add(_LOADED_BY_OPTIMISERS)
    local = {path.split("/")[0].removesuffix(".py") for path in repo}
    local.add("lmrbench_cases")
    return sorted(name for name in names if name.split(".")[0] not in local)


def _may_optimise(texts: Mapping[str, str]) -> bool:
    """Return whether the cases, or files that they reach, name an optimiser of PyTorch."""
    calls = texts.get(_CASES, "")
    reached = reachable(texts, [], [calls])
    may_run = [calls, *(texts[path] for path in reached)]
    return any(map(_OPTIMISER.search, may_run))


def _python_texts(files: Mapping[str, File]) -> dict[str, str]:
    texts = {}
    for path, file in files.items():
        if path.endswith(".py"):
            with contextlib.suppress(SourceError):
                texts[path] = python_text(file.data)
    return texts


def _imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
