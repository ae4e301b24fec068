"""An agent's answer: the files that it left, compared with the masked repository by git; nothing that it left is run.

Only regular text files below safe names can be part of an answer. Anything else is left out and named, and the masked
repository's file at that path stays.
"""

import os
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from lmrbench_data.base.errors import LoadError
from lmrbench_data.base.files import read_regular
from lmrbench_data.base.git import GitError, empty_git_directory, run_git
from lmrbench_data.base.text import one_line
from lmrbench_data.loader import File, check_path, write_files
from lmrbench_evaluate.predictions.prediction import MAX_PATCH_BYTES, too_large
from lmrbench_evaluate.rebuild.patch import IMPORTED, MAX_PATCHED_DEPTH, is_cache

#: Limit of all changed files together. A patch is smaller (`MAX_PATCH_BYTES`), but .gitignore decides what belongs to
#: it only after all files have been read.
MAX_CHANGED_BYTES = 32 * 2**20
#: Limit of files and folders to read; the box of an agent holds no more.
MAX_ENTRIES = 20_000
#: Number of left-out files that are named.
MAX_NAMED = 20
_ATTRIBUTES, _IGNORE = ".gitattributes", ".gitignore"
_KINDS = {stat.S_IFLNK: "a symbolic link", stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket"}
_PLAIN = (
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--no-renames",
    "--src-prefix=a/",
    "--dst-prefix=b/",
)


class LeftFiles(NamedTuple):
    """The repository as an agent left it, without git, as far as it can be part of an answer."""

    files: dict[str, File]
    left_out: dict[str, str]
    """Entries that cannot be part of an answer, with the reasons; the masked repository's files stay there."""


class Answer(NamedTuple):
    """The changes of an agent as a patch, and the files that are not part of it, each with the reason."""

    patch: str = ""
    left_out: tuple[str, ...] = ()
    problem: str = ""
    """The reason for a missing patch of an agent that ran."""


class TooMuchError(Exception):
    """There is more than any answer needs; the message says of what."""


def answer_of(before: Mapping[str, File], left: LeftFiles) -> Answer:
    """Compare the files that an agent left with the masked repository.

    Raises:
        InfraError: git is missing.
    """
    with tempfile.TemporaryDirectory(prefix="lmrbench-answer-") as place:
        try:
            patch = _diff(before, left, Path(place))
        except GitError as error:
            return Answer(problem=f"git cannot compare the changes ({error})")
    lines = [f"{one_line(name)[:100]} ({why})" for name, why in sorted(left.left_out.items())]
    problem = too_large("model_patch", patch)
    return Answer("" if problem else patch, tuple(lines[:MAX_NAMED]), problem)


def is_passed_over(name: str) -> bool:
    """Return whether an entry is left out without a note: git's own files, and caches."""
    return ".git" in PurePosixPath(name).parts or is_cache(name)


def read_folder(
    before: Mapping[str, File], folder: Path, left_out: Mapping[str, str] | None = None
) -> LeftFiles:
    """Read the repository that an agent left in a folder.

    Args:
        left_out: entries that did not get into the folder, with the reasons.

    Raises:
        TooMuchError: it cannot be read, or there is too much in it.
    """
    if folder.is_symlink() or not folder.is_dir():
        raise TooMuchError("the repository is gone")
    reader = _Reader(before, folder, dict(left_out or {}))
    for place, folders, files in os.walk(folder, onerror=reader.note):
        at = PurePosixPath(os.path.relpath(place, folder))
        names = {part: str(at / part) for part in sorted([*folders, *files])}
        names = {part: name for part, name in names.items() if not is_passed_over(name)}
        reader.count(len(names))
        for name in names.values():
            reader.add(name)
        folders[:] = [
            part for part, name in names.items() if part in folders and name not in reader.left_out
        ]
    after, out = reader.files, reader.left_out
    for name, file in before.items():
        is_fixed = (
            is_passed_over(name)
            or PurePosixPath(name).name == _ATTRIBUTES
            or not is_text(file.data)
        )
        if name not in after and (is_fixed or name in out or _is_below(name, out)):
            after[name] = file
    return LeftFiles(
        {name: file for name, file in sorted(after.items()) if not _is_below(name, after)}, out
    )


class _Reader:
    """Reads the files of a folder within limits, and notes what cannot be part of an answer."""

    def __init__(self, before: Mapping[str, File], folder: Path, left_out: dict[str, str]) -> None:
        self.before, self.folder, self.left_out = before, folder, left_out
        self.files: dict[str, File] = {}
        self._entries = self._changed_bytes = 0

    def note(self, error: OSError) -> None:
        """Note a folder that cannot be read."""
        name = os.path.relpath(error.filename, self.folder)
        if name == ".":
            raise TooMuchError(f"the repository cannot be read ({error.strerror})")
        self.left_out[name] = str(error.strerror)

    def count(self, entries: int) -> None:
        """Count files and folders."""
        self._entries += entries
        if self._entries > MAX_ENTRIES:
            raise TooMuchError(f"more than {MAX_ENTRIES:,} files and folders")

    def add(self, name: str) -> None:
        """Read an entry, if it is a file that can be part of an answer."""
        path, old = self.folder / name, self.before.get(name)
        try:
            facts = path.lstat()
            if reason := _obstacle(name, facts, old):
                self.left_out[name] = reason
            if reason or stat.S_ISDIR(facts.st_mode):
                return
            if self._changed_bytes + facts.st_size > MAX_CHANGED_BYTES:
                raise TooMuchError(f"the changed files hold more than {MAX_CHANGED_BYTES >> 20} MB")
            file = File(read_regular(path, MAX_CHANGED_BYTES), bool(facts.st_mode & stat.S_IXUSR))
        except OSError as error:
            self.left_out[name] = str(error.strerror)
            return
        if file == old:
            self.files[name] = file
        elif path.name == _ATTRIBUTES:
            self.left_out[name] = "settings of git are not part of an answer"
        elif not is_text(file.data):
            self.left_out[name] = "a binary file"
        else:
            self.files[name] = file
            self._changed_bytes += len(file.data)


def _obstacle(name: str, facts: os.stat_result, old: File | None) -> str:
    """Return why an entry cannot be part of an answer, before it is read; empty if it may be."""
    kind = stat.S_IFMT(facts.st_mode)
    if kind not in (stat.S_IFREG, stat.S_IFDIR):
        return _KINDS.get(kind, "a device")
    try:
        check_path(name)
    except (LoadError, UnicodeError):
        return "an unsafe name"
    if " /" in name or "/ " in f"/{name}":
        return "a name that a patch cannot state"
    if name.count("/") >= MAX_PATCHED_DEPTH:
        return f"below more than {MAX_PATCHED_DEPTH} folders"
    is_optional = kind == stat.S_IFREG and old is None and not name.endswith(IMPORTED)
    return (
        f"larger than {MAX_PATCH_BYTES:,} bytes"
        if is_optional and facts.st_size > MAX_PATCH_BYTES
        else ""
    )


def _diff(before: Mapping[str, File], left: LeftFiles, place: Path) -> str:
    """Return the patch in git's format; leave out new files that the masked repository's own .gitignore names."""
    git = empty_git_directory(place / "git")
    trees = []
    for part, files in (("old", before), ("new", left.files)):
        folder = place / part
        if part == "new" and (new := [name for name in left.files if name not in before]):
            # `./`, because git takes a name that begins with a colon for a pattern.
            names = "".join(f"./{name}\0" for name in new).encode()
            command = ("check-ignore", "--no-index", "-z", "--stdin")
            # 1: it names none of them
            ignored = run_git(place / "old", *command, stdin=names, directory=git, accepted=(0, 1))
            for name in (
                entry.removeprefix("./") for entry in ignored.decode().split("\0") if entry
            ):
                del left.files[name]
                left.left_out[name] = f"named by {_IGNORE}"
        write_files(files, folder)
        run_git(folder, "add", "--all", "--force", directory=git)
        trees.append(run_git(folder, "write-tree", directory=git).decode().strip())
    return run_git(place / "new", "diff", *_PLAIN, *trees, directory=git).decode("utf-8", "replace")


def _is_below(name: str, others: Mapping[str, object]) -> bool:
    """Return whether one of the others is a folder above."""
    return any(str(parent) in others for parent in PurePosixPath(name).parents)


def is_text(data: bytes) -> bool:
    """Return whether a patch can show the content: UTF-8 without NUL."""
    try:
        return "\0" not in data.decode("utf-8")
    except UnicodeDecodeError:
        return False
