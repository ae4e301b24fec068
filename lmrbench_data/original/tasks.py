"""The original's tasks as rows of a dataset with `test_protocol: script`, and the contexts of their images.

A row holds what a model may see (the repository as published, without golden files and tests), the golden file and the
test script with its data. What makes a task unusable leaves it out, with the reason; what only weakens it is told.
"""

import ast
import difflib
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from ..archive import gzip_bytes, pack, tar_bytes
from ..build import FILES, write_dataset
from ..environments import ORIGINAL_PREFIX
from ..evaluate.script import SCRIPT, SCRIPT_NAME, TESTS
from ..loader import File, archive_sha256, row_sha256
from ..manifest import Benchmark
from ..progress import Progress
from ..rows import DatasetRow
from ..source import FunctionNode, SourceError, find_function, first_line, parse
from ..text import counted
from .catalogue import Catalogue, Function, Info, text_of
from .clone import Clone, Problem, is_pointer
from .output import ImportFolder
from .tree import Tree, TreeError, read_task_tree

#: The original has no limits; training a small model on one core fits into these.
TIMEOUT_S, MEMORY_MB = 600, 8192
_LOG_NAME = re.compile(r"unit_test(?:_\d+)?\.log")
#: A body of fewer characters may stand in several places by chance.
_LEAST_BODY = 80
#: So many names stand in one message.
_NAMED = 5


@dataclass
class ImportedTasks:
    """Rows, and what their images are built from."""

    rows: list[DatasetRow] = field(default_factory=list)
    contexts: dict[str, dict[str, File]] = field(default_factory=dict)
    """Files of a build context by the folder's name."""


class _LeftOut(Exception):
    """A task cannot become a row; the message says why."""


def import_tasks(
    clone: Clone, catalogue: Catalogue, version: str, problems: list[Problem], progress: Progress
) -> ImportedTasks:
    """The rows of all tasks that can become one.

    Args:
        version: of the dataset.
    """
    found = ImportedTasks()
    for info in catalogue.infos:
        place = clone.place(info.folder)

        def tell(message: str, info: Info = info, place: str = place) -> None:
            problems.append(Problem(info.subject, place, message))

        try:
            tree = read_task_tree(info)
        except TreeError as error:
            tell(f"{error}; left out of the dataset, {counted(len(info.implementations), 'task')}")
            progress.step(info.subject)
            continue
        for message in tree.remarks:
            tell(message)
        image, context = _image(clone, info, tree)
        if not image:
            tell("no Dockerfile: its tasks can be shown to a model, and not evaluated")
        logs: dict[str, int] = {}
        for index in range(len(info.implementations)):
            function = catalogue.functions[info.paper, index]
            try:
                row, remarks = _row(info, function, tree, image, version)
            except _LeftOut as error:
                tell(f"function {index}: {error}; left out of the dataset")
                continue
            for message in remarks:
                tell(f"function {index}: {message}")
            for log in _LOG_NAME.findall(tree.text(tree.scripts[index]) or ""):
                if logs.setdefault(log, index) != index:
                    tell(f"functions {logs[log]} and {index} write the same log {log}: results may be of either")
            found.rows.append(row)
            if image:
                found.contexts[image.partition("/")[2].partition(":")[0]] = context
        progress.step(info.subject)
    found.rows.sort(key=lambda row: row["instance_id"])
    return found


def write_tasks(folder: ImportFolder, tasks: ImportedTasks, version: str) -> None:
    """Write the dataset, and the build context of each image beside it."""
    if tasks.rows:
        benchmark = Benchmark("lmr-bench-original", "LMR-Bench, the original release (imported)", version, "", "")
        write_dataset(tasks.rows, folder.path / "dataset", benchmark, imported_card="original_card.md")
        for name in FILES:
            if (folder.path / "dataset" / name).is_file():
                folder.note(f"dataset/{name}")
    for name, context in tasks.contexts.items():
        for path, file in context.items():
            folder.write(f"images/{name}/{path}", file.data, executable=file.executable)


def _image(clone: Clone, info: Info, tree: Tree) -> tuple[str, dict[str, File]]:
    """Tag and build context of a paper's image: its Dockerfile with what a model may see, and nothing else."""
    for base in (tree.repo, info.folder, *info.folder.parents):
        if not base.is_relative_to(clone.root):
            break
        path = base / "Dockerfile"
        if path.is_file() and not path.is_symlink():
            inside = tree.repo.relative_to(base).as_posix() if tree.repo.is_relative_to(base) else ""
            prefix = "" if inside in ("", ".") else f"{inside}/"
            shown = {f"{prefix}{name}": file for name, file in tree.shown().items()}
            context = {**(shown if base in (tree.repo, info.folder) else {}), "Dockerfile": File(path.read_bytes())}
            name = re.sub(r"[^a-z0-9]+", "-", info.subject.lower()).strip("-")
            return f"{ORIGINAL_PREFIX}{name}:{hashlib.sha256(tar_bytes(context)).hexdigest()[:12]}", context
    return "", {}


class _Sources(NamedTuple):
    """Paths and texts of a task's three files."""

    goal: str
    goal_text: str
    golden: str
    golden_text: str
    script: str
    script_text: str


def _read_sources(tree: Tree, index: int) -> _Sources:
    """The files of a task.

    Raises:
        _LeftOut: one is missing, or cannot be read.
    """
    found: list[str] = []
    paths = tree.goals[index], tree.goldens[index], tree.scripts[index]
    for what, path in zip(("goal", "golden", "test"), paths, strict=True):
        if not path:
            raise _LeftOut(f"{what} file {tree.asked(index, what)!r} is not there")
        text = tree.text(path)
        if text is None:
            raise _LeftOut(f"{what} file {path} cannot be read")
        found += [path, text]
    return _Sources(*found)


def _weaknesses(item: Mapping[str, object], index: int, tree: Tree, name: str, sources: _Sources) -> Iterator[str]:
    """What a reader of results on a task has to know.

    Raises:
        _LeftOut: the task cannot be tested at all.
    """
    yield from _check_functions(name, sources.goal_text, sources.golden_text)
    script, text = sources.script, sources.script_text
    golden, goal = Path(sources.golden), Path(sources.goal)
    # By file or folder, as far as it is not called like the goal file or lies in the same folder.
    names = {golden.stem, golden.parent.name} - {goal.stem, *goal.parts, ""}
    if any(re.search(rf"\b{re.escape(word)}\b", text) for word in names):
        raise _LeftOut(f"{script} loads the golden file, which never goes into a sandbox")
    bare = name.rpartition(".")[2]
    if not re.search(rf"\b{re.escape(bare)}\b", text):
        yield f"{script} never names {bare}: it tests something else"
    if "cuda" in text:
        yield f"{script} names cuda, and a sandbox has no GPU"
    asked = tree.asked(index, "test")
    if tree.find(asked) != script:
        yield f"unit_test_file {asked!r} is not there; {script} is used"
    if pointers := sorted(path for path, file in tree.tests_of(script).items() if is_pointer(file.data)):
        yield f"test data is missing, only Git-LFS pointers are there: {_named(pointers)}"
    if unknown := _context(item, tree)[1]:
        yield f"retrieval context names no file of the repository: {_named(unknown)}"
    if copies := _copies(name, sources.golden_text, tree.shown(), sources.goal):
        yield f"the answer stands in {_named(copies)} as well"


def _row(info: Info, function: Function, tree: Tree, image: str, version: str) -> tuple[DatasetRow, list[str]]:
    """A row, and what is weak about it.

    Raises:
        _LeftOut: it cannot be made.
    """
    item = info.implementations[function.index]
    name, instruction = _qualified_name(item), text_of(item, "instruction")
    if not instruction:
        raise _LeftOut("no instruction")
    sources = _read_sources(tree, function.index)
    remarks = list(_weaknesses(item, function.index, tree, name, sources))
    tests = tree.tests_of(sources.script)
    archive, expected = pack(tree.shown()), gzip_bytes(b"")
    url = text_of(info.facts, "paper_url") or text_of(info.facts, "paper_link")
    arxiv = re.search(r"arxiv\.org/\w+/(\d{4}\.\d{4,5})", url)
    year = info.facts.get("year")
    row: DatasetRow = {
        "instance_id": function.instance_id,
        "category": function.category,
        "paper_title": text_of(info.facts, "paper_title") or text_of(info.facts, "paper_name") or info.name,
        "paper_url": url,
        "arxiv_id": arxiv[1] if arxiv else "",
        "venue": text_of(info.facts, "paper_venue"),
        "year": int(year) if isinstance(year, int) or (isinstance(year, str) and year.isdecimal()) else 0,
        "upstream_repo": text_of(info.facts, "repo_url"),
        "instruction": instruction,
        "contract": "",
        "paper_text": "",
        "repo_name": tree.repo.name,
        "repo_archive": archive,
        "repo_sha256": archive_sha256(archive),
        "goal_file": sources.goal,
        "goal_function": name,
        "class_name": name.rpartition(".")[0],
        "context_files": _context(item, tree)[0],
        "golden_file": sources.golden_text,
        "tests_archive": pack(
            {
                SCRIPT_NAME: File(f"{sources.script}\n".encode()),
                **{f"{TESTS}/{path}": file for path, file in tests.items()},
            }
        ),
        "expected": expected,
        "recording": {"sha256": hashlib.sha256(expected).hexdigest(), "image": "", "sandbox": "", "cpu": ""},
        "tests": {"seeds": [0], "timeout_s": TIMEOUT_S, "memory_mb": MEMORY_MB, "cases": []},
        "test_protocol": SCRIPT,
        "docker_image": image,
        "benchmark_version": version,
        "license": "unknown",
        "canary": "",
        "row_sha256": "",
    }
    return {**row, "row_sha256": row_sha256(row)}, remarks


def _qualified_name(item: Mapping[str, object]) -> str:
    name, owner = text_of(item, "goal_function"), text_of(item, "class_name")
    return f"{owner}.{name}" if owner not in ("", "None") and "." not in name else name


def _check_functions(name: str, goal: str, golden: str) -> list[str]:
    """What is weak about where the function is written.

    Raises:
        _LeftOut: it is not in the golden file, or its body is in the goal file.
    """
    if not name:
        raise _LeftOut("no goal_function")
    try:
        answer = _source(golden, name)
    except SourceError as error:
        raise _LeftOut(f"golden file: {error}{_near(golden, name)}") from error
    try:
        masked = _source(goal, name)
    except SourceError as error:
        return [f"goal file: {error}; only a whole file or a patch can be an answer, not a function"]
    if masked == answer:
        raise _LeftOut(f"{name} is the same in goal file and golden file: not masked")
    return []


def _near(text: str, name: str) -> str:
    """A function of a file whose name is nearly this, as a question."""
    try:
        names = [node.name for node in ast.walk(parse(text)) if isinstance(node, FunctionNode)]
    except SourceError:
        return ""
    near = difflib.get_close_matches(name.rpartition(".")[2], names, n=1)
    return f" (is {near[0]!r} meant?)" if near else ""


def _source(text: str, name: str) -> str:
    node = find_function(text, name).node
    return "\n".join(text.splitlines()[first_line(node) - 1 : node.end_lineno])


def _copies(name: str, golden: str, shown: Mapping[str, File], goal: str) -> list[str]:
    """Files in which a model finds the function's body."""
    node = find_function(golden, name).node
    lines = golden.splitlines()[node.body[0].lineno - 1 : node.end_lineno]
    body = "\n".join(lines).strip().encode()
    if len(body) < _LEAST_BODY:
        return []
    return sorted(path for path, file in shown.items() if body in file.data and path != goal)


def _context(item: Mapping[str, object], tree: Tree) -> tuple[list[str], list[str]]:
    """The files that standard prompting shows, by either spelling of the key; and names that are no such file."""
    value = item.get("retrieval_context", item.get("retrieval_content")) or []
    names = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    texts = [name for name in names if isinstance(name, str) and name.strip()]
    found = {name: tree.find(name.strip()) for name in texts}
    shown = tree.shown()
    known = [path for path in found.values() if path in shown]
    return list(dict.fromkeys(known)), [name[:80] for name, path in found.items() if path not in shown]


def _named(names: Sequence[str]) -> str:
    return ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
