"""A task's folder in the original's tree: its files, and which of them are goal, golden file and test script.

Paths of info.json are looked for below the repository, then below the task's folder; a test script that is not where
info.json says may be found by its number. Every path that is kept is relative to the repository's root.
"""

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ..archive import read_tree
from ..errors import InputError
from ..loader import MAX_FILES, MAX_UNPACKED_BYTES, File, LoadError, check_path
from .catalogue import Info, text_of
from .clone import MAX_BYTES, is_pointer

#: Keys of an implementation in info.json by what they name.
_KEYS = {"goal": "goal_file", "golden": "golden_file", "test": "unit_test_file"}
#: Files of the tests' folder that earlier runs left there.
_LOGS = "logs"
#: Folders that no model sees.
_SECRET = re.compile(r"golden\w*|unit_?tests?")
_NAMED = 3


class TreeError(Exception):
    """A task's folder cannot be used; the message says why."""


@dataclass(frozen=True)
class Tree:
    """The files of a task; `""` stands for one that is not there."""

    info: Info
    repo: Path
    files: Mapping[str, File]
    """Of the repository, and beside it those of the task's folder that info.json names."""
    inside: frozenset[str]
    """Those of the repository."""
    goals: tuple[str, ...]
    goldens: tuple[str, ...]
    scripts: tuple[str, ...]
    remarks: tuple[str, ...]

    def asked(self, index: int, what: str) -> str:
        """The path that info.json gives."""
        return text_of(self.info.implementations[index], _KEYS[what])

    def find(self, name: str) -> str:
        """A path of info.json, as it is kept here; empty if there is no such file."""
        return _find(self.files, self.repo.name, name)

    def text(self, path: str) -> str | None:
        """A file's text; None if it is not there, a Git-LFS pointer, or not UTF-8."""
        file = self.files.get(path)
        if file is None or is_pointer(file.data):
            return None
        try:
            return file.data.decode("utf-8")
        except UnicodeDecodeError:
            return None

    @functools.cached_property
    def _shown(self) -> dict[str, File]:
        hidden = {*self.goldens, *self.scripts}
        return {
            path: self.files[path] for path in sorted(self.inside) if path not in hidden and not _secret_folder(path)
        }

    def shown(self) -> dict[str, File]:
        """What a model may see: the repository without golden files, tests, and what lies beside them."""
        return self._shown

    def tests_of(self, script: str) -> dict[str, File]:
        """A test script and the data of the tests' folder, without logs of earlier runs."""
        folder = _secret_folder(script)
        found = {
            path: file
            for path, file in self.files.items()
            if folder and path.startswith(f"{folder}/") and _LOGS not in PurePosixPath(path).parts
        }
        return {path: file for path, file in {**found, script: self.files[script]}.items() if path not in self.goldens}


def read_task_tree(info: Info) -> Tree:
    """The files of a task.

    Raises:
        TreeError: no repository (as an empty submodule has none), or one that is too large to pack.
    """
    name = text_of(info.facts, "repo_folder_name")
    if not name:
        raise TreeError("info.json names no repo_folder_name")
    repo = info.folder / _plain(name)
    if not repo.is_dir() or repo.is_symlink():
        raise TreeError(f"no repository {name!r}")
    skipped: list[str] = []
    inside = _read(repo, skipped)
    if not inside:
        raise TreeError(f"the repository {name!r} is empty (a submodule that was not fetched?)")
    remarks = []
    if pointers := sorted(path for path, file in inside.items() if is_pointer(file.data)):
        more = f" and {len(pointers) - _NAMED} more" if len(pointers) > _NAMED else ""
        remarks.append(f"Git-LFS pointers in place of {', '.join(pointers[:_NAMED])}{more}")
    if skipped:
        remarks.append(f"links and special files are left out: {', '.join(skipped[:_NAMED])}")
    files = {**_beside(info, repo), **inside}
    goals, goldens = (
        tuple(
            _find(inside if key == "goal_file" else files, repo.name, text_of(item, key))
            for item in info.implementations
        )
        for key in ("goal_file", "golden_file")
    )
    scripts = tuple(_script(files, repo.name, info, index) for index in range(len(info.implementations)))
    return Tree(info, repo, files, frozenset(inside), goals, goldens, scripts, tuple(remarks))


def _read(folder: Path, skipped: list[str]) -> dict[str, File]:
    size = number = 0
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            size, number = size + path.stat().st_size, number + 1
    if size > MAX_UNPACKED_BYTES or number > MAX_FILES:
        raise TreeError(f"the repository is too large to pack: {number} files, {size // 2**20} MiB")
    try:
        return read_tree(folder, skipped)
    except InputError as error:  # a file name that no archive should have
        raise TreeError(str(error)) from error


def _secret_folder(path: str) -> str:
    """The outermost folder of golden files or tests that a path lies in; empty if there is none."""
    parents = [str(parent) for parent in PurePosixPath(path).parents if _SECRET.fullmatch(parent.name)]
    return parents[-1] if parents else ""


def _beside(info: Info, repo: Path) -> dict[str, File]:
    """Golden files and tests that lie in the task's folder, beside the repository."""
    named = {text_of(item, key) for item in info.implementations for key in _KEYS.values()}
    found = {}
    for path in sorted(info.folder.rglob("*")):
        name = path.relative_to(info.folder).as_posix()
        if path.is_relative_to(repo) or path.is_symlink() or not (name in named or _secret_folder(name)):
            continue
        if path.is_file() and path.stat().st_size <= MAX_BYTES:
            found[name] = File(path.read_bytes())
    return found


def _find(files: Mapping[str, File], repo: str, name: str) -> str:
    try:
        path = check_path(name.removeprefix("./"))
    except LoadError:
        return ""
    return next((option for option in (path, path.removeprefix(f"{repo}/")) if option in files), "")


def _script(files: Mapping[str, File], repo: str, info: Info, index: int) -> str:
    """The test script of an implementation: where info.json says, else the only one of its number."""
    asked = text_of(info.implementations[index], "unit_test_file")
    if found := _find(files, repo, asked):
        return found
    names = {f"unit_test_{index + 1}.py", *(["unit_test.py"] if len(info.implementations) == 1 else [])}
    options = [path for path in files if PurePosixPath(path).name in names]
    return options[0] if len(options) == 1 else ""


def _plain(name: str) -> str:
    """A folder's name that stays below the task's folder.

    Raises:
        TreeError: it does not.
    """
    try:
        return check_path(name)
    except LoadError as error:
        raise TreeError(f"repo_folder_name: {str(error).removeprefix('archive: ')}") from error
