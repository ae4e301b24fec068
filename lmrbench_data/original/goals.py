"""The goal functions in a clone's tree: masked file, published reference, and the repository that a model was shown.

Paths of info.json are looked for below the repository, then below the task's folder. Golden files and tests are never
among the files that a model is shown.
"""

import ast
import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from ..base.archive import read_tree
from ..base.definitions import Module
from ..base.errors import InputError
from ..base.problems import Problem
from ..base.source import SourceError, find_function
from ..loader import MAX_FILES, MAX_UNPACKED_BYTES, File, LoadError, check_path
from .catalogue import Catalogue, Function, Info, text_of
from .clone import Clone, UnreadableFile, clone_error, clone_warning

#: Folders that are hidden from models.
_SECRET = re.compile(r"golden\w*|unit_?tests?")


@dataclass(frozen=True)
class Goal:
    """A function that a model was asked to implement."""

    function: Function
    info: Info
    repo: str
    """Name of the repository's folder."""
    path: str
    """Path of the goal file, below the repository."""
    name: str
    """Name of the function, with its class."""
    masked: str | None
    """The goal file; None if the clone does not have it."""
    golden: str | None
    """The golden file; None if the clone does not have it, or it does not define the function."""

    @property
    def instruction(self) -> str:
        """The instruction that the model was given."""
        return text_of(self.info.implementations[self.function.index], "instruction")

    def is_file(self, path: PurePosixPath) -> bool:
        """Return whether a path of a session is that of the goal file: its repository may stand in any folder there."""
        parts, wanted = path.parts, PurePosixPath(self.path).parts
        below = [parts[number + 1 :] for number, part in enumerate(parts) if part == self.repo]
        return wanted in below if below else parts[-len(wanted) :] == wanted


def read_goals(clone: Clone, catalogue: Catalogue, problems: list[Problem]) -> list[Goal]:
    """The goal functions of all tasks of the clone that name a goal file."""
    goals = []
    for info in catalogue.infos:
        repo = text_of(info.facts, "repo_folder_name")
        for index, item in enumerate(info.implementations):
            function = catalogue.functions[info.paper, index]
            asked = text_of(item, "goal_file").removeprefix("./")
            path = _plain(asked.removeprefix(f"{repo}/"))
            name = _qualified_name(item)
            if not _plain(repo) or not path or not name:
                message = f"function {index}: info.json names no repository, goal file or goal function"
                problems.append(clone_error(info.subject, clone.place(info.folder), message))
                continue

            def tell(message: str, info: Info = info, index: int = index) -> None:
                problems.append(clone_warning(info.subject, clone.place(info.folder), f"function {index}: {message}"))

            masked = _read(clone, info, repo, asked)
            golden = _read(clone, info, repo, text_of(item, "golden_file"))
            if masked is None:
                tell(f"goal file {asked[:80]!r} is not there (a submodule that was not fetched?)")
            if golden is None:
                tell("its golden file is not there: answers to it cannot be judged")
            else:
                name, golden = _reference(name, masked, golden, tell)
            goals.append(Goal(function, info, repo, path, name, masked, golden))
    return goals


def shown_files(clone: Clone, info: Info) -> dict[str, File]:
    """The repository of a task as a model is shown it: without golden files and tests.

    Raises:
        UnreadableFile: there is none, it leads out of the clone, or it is too large to pack.
    """
    repo = info.folder / _plain(text_of(info.facts, "repo_folder_name"))
    if repo == info.folder or not repo.is_dir() or repo.is_symlink() or not clone.holds(repo):
        raise UnreadableFile("no repository")
    sizes = [path.stat().st_size for path in repo.rglob("*") if path.is_file() and not path.is_symlink()]
    if sum(sizes) > MAX_UNPACKED_BYTES or len(sizes) > MAX_FILES:
        raise UnreadableFile(f"the repository is too large: {len(sizes)} files, {sum(sizes) // 2**20} MiB")
    try:
        files = read_tree(repo, [])
    except InputError as error:  # a file name that no archive should have
        raise UnreadableFile(str(error)) from error
    golden = {text_of(item, "golden_file").removeprefix(f"{repo.name}/") for item in info.implementations}
    return {
        path: file
        for path, file in files.items()
        if path not in golden and not any(_SECRET.fullmatch(part) for part in PurePosixPath(path).parts[:-1])
    }


def _read(clone: Clone, info: Info, repo: str, name: str) -> str | None:
    """The text of a file that info.json names; None if it is not there or cannot be read."""
    path = _plain(name.removeprefix("./"))
    for base in (info.folder / repo, info.folder):
        try:
            return clone.read_text(base / path) if path else None
        except UnreadableFile:
            continue
    return None


def _reference(name: str, masked: str | None, golden: str, tell: Callable[[str], None]) -> tuple[str, str | None]:
    """The function's name and its golden file; None if that does not answer the task.

    info.json may misspell a function that both files have: then the name that they have counts.
    """
    try:
        find_function(golden, name)
    except SourceError as error:
        both = _functions(golden) & (_functions(masked) if masked is not None else _functions(golden))
        near = difflib.get_close_matches(name, sorted(both), n=1, cutoff=0.8)
        if not near:
            tell(f"golden file: {error}: answers to it cannot be judged")
            return name, None
        tell(f"info.json calls it {name!r}; {near[0]!r} is meant")
        name = near[0]
    try:
        if masked is not None and code_of(masked, name) == code_of(golden, name):
            tell(f"{name} is the same in goal file and golden file: not masked")
            return name, None
    except SourceError as error:
        tell(f"goal file: {error}")
    return name, golden


def code_of(source: str, name: str) -> str:
    """A function's code without comments and layout.

    Raises:
        SourceError: there is no such function.
    """
    node = find_function(source, name).node
    try:
        return ast.unparse(node)
    except RecursionError:
        raise SourceError(f"{name} is nested too deeply") from None


def _functions(source: str) -> set[str]:
    """Names of the functions of a file and of the methods of its classes."""
    try:
        return {name for name, _ in Module("", source).functions()}
    except (SourceError, RecursionError):
        return set()


def _qualified_name(item: Mapping[str, object]) -> str:
    name, owner = text_of(item, "goal_function"), text_of(item, "class_name")
    return f"{owner}.{name}" if owner not in ("", "None") and "." not in name else name


def _plain(name: str) -> str:
    """A path that stays below its folder; empty if this one does not."""
    try:
        return check_path(name)
    except LoadError:
        return ""
