"""An agent's answer: the files that it left, compared with the masked repository by git; nothing that it left is run.

Only regular text files below safe names can be part of an answer. Anything else is left out and named, and the masked
repository's file at that path stays.
"""

import functools
import os
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from lmrbench_evaluate.rebuild.patch import IMPORTED, MAX_PATCH_BYTES, MAX_PATCHED_DEPTH, is_cache

from ..base.errors import LoadError
from ..base.files import read_regular
from ..base.git import GitError, empty_git_directory, run_git
from ..base.text import one_line
from ..loader import File, check_path, write_files

#: Limit of all changed files together. A patch is smaller (`MAX_PATCH_BYTES`), but .gitignore decides what belongs to
#: it only after all files have been read.
MAX_CHANGED_BYTES = 32 * 2**20
#: Limit of files and folders to read; the box of an agent holds no more.
MAX_ENTRIES = 20_000
#: Number of left-out files that are named.
MAX_NAMED = 20
FILE, FOLDER, LINK = "file", "folder", "link"
_ATTRIBUTES, _IGNORE = ".gitattributes", ".gitignore"
_KINDS = {stat.S_IFLNK: "a symbolic link", stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket"}
_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_PLAIN = ("--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--src-prefix=a/", "--dst-prefix=b/")


class Entry(NamedTuple):
    """A file, folder or other entry that an agent left."""

    name: str
    """Its path; bytes that are not UTF-8 are lone surrogates."""
    kind: str
    """`FILE`, `FOLDER`, `LINK` (another name of a file), or the reason why it cannot be part of an answer."""
    size: int = 0
    executable: bool = False
    target: str = ""
    """The first name of a `LINK`."""
    read: Callable[[], bytes] = bytes
    """Returns the content of a file; callable until the next entry is requested."""


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
    more = [f"and {len(lines) - MAX_NAMED} more"] if len(lines) > MAX_NAMED else []
    return Answer(patch, (*lines[:MAX_NAMED], *more))


def is_passed_over(name: str) -> bool:
    """Return whether an entry is left out without a note: git's own files, and caches."""
    return ".git" in PurePosixPath(name).parts or is_cache(name)


def read_left(before: Mapping[str, File], entries: Iterable[Entry]) -> LeftFiles:
    """Read the entries that an agent left in its repository.

    Raises:
        TooMuchError: there is more than any answer needs.
    """
    after: dict[str, File] = {}
    left_out: dict[str, str] = {}
    size = 0
    for number, entry in enumerate(item for item in entries if not is_passed_over(item.name)):
        name = entry.name
        if number >= MAX_ENTRIES:
            raise TooMuchError(f"more than {MAX_ENTRIES:,} files and folders")
        if _is_below(name, left_out):
            continue
        old = before.get(name)
        if reason := _obstacle(entry, old):
            left_out[name] = reason
        elif entry.kind == FILE:
            if size + entry.size > MAX_CHANGED_BYTES:
                raise TooMuchError(f"the changed files hold more than {MAX_CHANGED_BYTES >> 20} MB")
            try:
                file = File(entry.read(), entry.executable)
            except OSError as error:
                left_out[name] = str(error.strerror)
                continue
            if file != old and PurePosixPath(name).name == _ATTRIBUTES:
                left_out[name] = "settings of git are not part of an answer"
            elif file != old and not is_text(file.data):
                left_out[name] = "a binary file"
            else:
                after[name] = file
                size += 0 if file == old else len(file.data)
    for name, file in before.items():
        is_fixed = is_passed_over(name) or PurePosixPath(name).name == _ATTRIBUTES or not is_text(file.data)
        if name not in after and (is_fixed or name in left_out or _is_below(name, left_out)):
            after[name] = file
    return LeftFiles({name: file for name, file in sorted(after.items()) if not _is_below(name, after)}, left_out)


def _obstacle(entry: Entry, old: File | None) -> str:
    """Return why an entry cannot be part of an answer, before it is read; empty if it may be."""
    if entry.kind not in (FILE, FOLDER):
        return entry.kind
    try:
        check_path(entry.name)
    except (LoadError, UnicodeError):
        return "an unsafe name"
    if entry.name.count("/") >= MAX_PATCHED_DEPTH:
        return f"below more than {MAX_PATCHED_DEPTH} folders"
    is_optional = old is None and not entry.name.endswith(IMPORTED)
    return f"larger than {MAX_PATCH_BYTES:,} bytes" if is_optional and entry.size > MAX_PATCH_BYTES else ""


def _diff(before: Mapping[str, File], left: LeftFiles, place: Path) -> str:
    """Return the patch in git's format; leave out new files that the masked repository's own .gitignore names."""
    git = empty_git_directory(place / "git")
    trees = []
    for part, files in (("old", before), ("new", left.files)):
        folder = place / part
        if part == "new" and (new := [name for name in left.files if name not in before]):
            names = "".join(f"{name}\0" for name in new).encode()
            command = ("check-ignore", "--no-index", "-z", "--stdin")
            # 1: it names none of them
            ignored = run_git(place / "old", *command, stdin=names, directory=git, accepted=(0, 1))
            for name in filter(None, ignored.decode().split("\0")):
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


# --- a folder that somebody else has owned, and may still write to ----------------------------------------------------


def read_folder(before: Mapping[str, File], folder: Path) -> LeftFiles:
    """Read the repository that an agent left in a folder.

    Raises:
        TooMuchError: it cannot be opened, or there is too much in it.
    """
    try:
        descriptor = os.open(folder, _OPEN_FOLDER)
    except OSError as error:
        raise TooMuchError(f"the repository cannot be read ({error.strerror})") from None
    try:
        return read_left(before, _entries(descriptor, ""))
    finally:
        os.close(descriptor)


def _entries(folder: int, prefix: str) -> Iterator[Entry]:
    """Yield the content of an open folder by descriptors, so that no link can take its place on the way."""
    for part in sorted(os.listdir(folder)):
        name = prefix + part
        if is_passed_over(name):
            continue
        try:
            facts = os.stat(part, dir_fd=folder, follow_symlinks=False)
            kind = stat.S_IFMT(facts.st_mode)
            inner = os.open(part, _OPEN_FOLDER, dir_fd=folder) if kind == stat.S_IFDIR else -1
        except OSError as error:
            yield Entry(name, str(error.strerror))
            continue
        if inner >= 0:
            yield Entry(name, FOLDER)
            try:
                yield from _entries(inner, f"{name}/") if name.count("/") < MAX_PATCHED_DEPTH else ()
            finally:
                os.close(inner)
        elif kind == stat.S_IFREG:
            read = functools.partial(read_regular, part, MAX_CHANGED_BYTES, folder=folder)
            yield Entry(name, FILE, facts.st_size, bool(facts.st_mode & stat.S_IXUSR), read=read)
        else:
            yield Entry(name, _KINDS.get(kind, "a device"))
