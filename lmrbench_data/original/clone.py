"""A clone of the original repository: its parts, safe reading of its files, and the problems found.

Nothing in a clone is assumed to exist or to be well-formed. An unusable part becomes a `Problem`, never a guess.
Git keeps symbolic links, so a hostile clone can have one anywhere: every path is resolved, and only files below the
clone's root are read.
"""

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..base.errors import InputError
from ..base.files import read_regular
from ..base.problems import Problem, Severity
from ..base.text import one_line

#: Folders of `results/` → settings, as the original's human labels call them.
SETTINGS = {"BaseAgent": "no_agent", "OpenHands": "openhands_agent"}
#: Longest file that is read whole.
MAX_BYTES = 64 * 1024 * 1024
_POINTER = b"version https://git-lfs.github.com/spec/"
#: Levels below the root at which a task folder may be.
_DEPTH = 4
_NUMBERED = re.compile(r"0*(\d{1,6})-(.+)")


class UnreadableFile(Exception):
    """A file cannot be used; the message says why."""


def clone_error(subject: str, where: str, message: str) -> Problem:
    """Make a problem of a part of the clone that is not imported.

    Args:
        subject: task folder such as `01-DPO`, setting and model of an answer, session; empty for the whole clone.
        where: path below the root of the clone.
    """
    return Problem(subject, where, message, fixable=False)


def clone_warning(subject: str, where: str, message: str) -> Problem:
    """Make a problem of a part that is imported and affects the numbers; arguments as of `clone_error`."""
    return Problem(subject, where, message, Severity.WARNING, fixable=False)


@dataclass(frozen=True)
class Clone:
    """The parts of a clone."""

    root: Path
    results: Path | None
    task_folders: tuple[Path, ...]
    """Folders `NN-Name` with an info.json, in the order of their numbers."""
    commit: str
    """Empty if the folder is not a git repository."""

    def place(self, path: Path) -> str:
        """A path as messages name it."""
        return path.relative_to(self.root).as_posix()

    def holds(self, path: Path) -> bool:
        """Return whether a path, all links followed, stays below the clone."""
        return _stays_below(self.root, path)

    def read_bytes(self, path: Path) -> bytes:
        """The content of a file of the clone.

        Raises:
            UnreadableFile: it is missing, a link, too large, a Git-LFS pointer, or outside the clone.
        """
        return _read_below(self.root, path)

    def read_text(self, path: Path) -> str:
        """The text of a file of the clone.

        Raises:
            UnreadableFile: see `read_bytes`; or it is not UTF-8.
        """
        try:
            return self.read_bytes(path).decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise UnreadableFile(f"not UTF-8 (byte {error.start})") from error

    def read_json(self, path: Path) -> Any:
        """The value in a JSON file of the clone.

        Raises:
            UnreadableFile: see `read_text`; or it is not JSON.
        """
        text = self.read_text(path)
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise UnreadableFile(f"not JSON ({one_line(error)[:100]})") from error


def open_clone(root: Path) -> Clone:
    """Look for results and tasks below `root`.

    Raises:
        InputError: neither exists, or `results` is a link that leads out of the clone.
    """
    if not root.is_dir():
        raise InputError(f"{root}: no such folder; give a clone of the original repository")
    results = root / "results"
    folders = sorted(_task_folders(root), key=lambda path: (number_of(path.name) or (0, ""), path))
    if not results.is_dir() and not folders:
        raise InputError(f"{root}: neither results/ nor a task with info.json; give a clone of the original repository")
    if not _stays_below(root, results):
        raise InputError(f"{results}: a link that leads out of the clone; remove it")
    return Clone(root, results if results.is_dir() else None, tuple(folders), _commit(root))


def number_of(name: str) -> tuple[int, str] | None:
    """Return (paper, name) of a folder, equal for `01-DPO` (tree) and `1-DPO` (results); None for any other."""
    found = _NUMBERED.fullmatch(name)
    return (int(found[1]), found[2]) if found else None


def subject_of(paper: int, name: str) -> str:
    """A paper's folder as problems name it, padded as in the tree."""
    return f"{paper:02d}-{name}"


def _task_folders(root: Path) -> Iterator[Path]:
    for folder, below, files in os.walk(root):
        path = Path(folder)
        depth = len(path.relative_to(root).parts)
        if "info.json" in files and number_of(path.name):
            yield path
            below.clear()  # folders inside a task belong to it
        elif depth >= _DEPTH:
            below.clear()
        elif depth == 0:
            below[:] = [name for name in below if name not in (".git", "results")]


def _stays_below(root: Path, path: Path) -> bool:
    try:
        return path.resolve().is_relative_to(root.resolve())
    except (OSError, RuntimeError):  # links that lead to each other
        return False


def _read_below(root: Path, path: Path) -> bytes:
    if not _stays_below(root, path):
        raise UnreadableFile("a link that leads out of the clone")
    try:
        if path.is_symlink() or not path.is_file():
            raise UnreadableFile("missing, or not a plain file")
        if path.stat().st_size > MAX_BYTES:
            raise UnreadableFile(f"larger than {MAX_BYTES // 2**20} MiB")
        data = read_regular(path, MAX_BYTES)
    except OSError as error:
        raise UnreadableFile(str(error.strerror)) from error
    if is_pointer(data):
        raise UnreadableFile("a Git-LFS pointer: the content is not in the clone")
    return data


def is_pointer(data: bytes) -> bool:
    """Return whether Git LFS left its pointer where the content should be."""
    return data.startswith(_POINTER) and len(data) < 1024


def _commit(root: Path) -> str:
    """The commit that is checked out, read without git: it may not be installed. Empty if it is not known."""
    git = root / ".git"
    try:
        head = _read_below(root, git / "HEAD").decode("ascii").strip()
        name = head.removeprefix("ref: ")
        if name == head:
            found = head
        elif (git / name).is_file():
            found = _read_below(root, git / name).decode("ascii").strip()
        else:
            packed = _read_below(root, git / "packed-refs").decode("utf-8").splitlines()
            found = next((line.split()[0] for line in packed if line.endswith(f" {name}")), "")
    except (UnreadableFile, OSError, UnicodeDecodeError, ValueError):
        return ""
    return found if re.fullmatch(r"[0-9a-f]{40}", found) else ""
