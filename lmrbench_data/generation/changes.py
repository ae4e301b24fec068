"""Compare two sets of files and write a patch of the changes; nothing that an agent left is run.

Only regular files with text in them can be an answer. Anything else is left out and named; the masked repository's file
at that path stays. A patch made here applies with `lmrbench_evaluate/rebuild/patch.py` and gives the files that were
added.
"""

import re
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath

from lmrbench_evaluate.rebuild.patch import IMPORTED, MAX_PATCH_BYTES, MAX_PATCHED_DEPTH, is_cache

from ..base.errors import LoadError
from ..base.git import GitLimitError, empty_git_directory, run_git
from ..base.text import one_line
from ..loader import File, check_path, write_files

#: Limit of all changed files together. A patch is smaller (`MAX_PATCH_BYTES`), but .gitignore decides what belongs to
#: it only after all files have been read.
MAX_CHANGED_BYTES = 32 * 2**20
#: Limit of files and folders to read; the box of an agent holds no more.
MAX_ENTRIES = 20_000
#: Number of left-out files that are named.
MAX_TOLD = 20
_GIT, _ATTRIBUTES, _IGNORE = ".git", ".gitattributes", ".gitignore"
#: Git's text after a hunk's numbers: part of some line, cut to 80 bytes, even within a character.
_HEADING = re.compile(rb"^(@@ -[\d,]+ \+[\d,]+ @@).*$", re.MULTILINE)
_PLAIN = re.compile(r"[\w./+-]*", re.ASCII)
#: Characters that need no escape between quotes.
_SAFE = frozenset(map(chr, range(32, 127))) - {'"', "\\"}


class TooMuchError(Exception):
    """There is more than any answer needs; the message says of what."""


class Changes:
    """The differences from a masked repository, gathered file by file."""

    def __init__(self, before: Mapping[str, File]) -> None:
        """Start without files: any file that is not added counts as deleted."""
        self._before = before
        self._after: dict[str, File] = {}
        self._seen: set[str] = set()
        self._left_out: dict[str, str] = {}
        self._bytes = self._entries = 0

    @property
    def left_out(self) -> list[str]:
        """Files left out, each with the reason, ready to print; only the first of very many."""
        told = [f"{one_line(name)[:100]} ({why})" for name, why in sorted(self._left_out.items())]
        return [*told[:MAX_TOLD], f"and {len(told) - MAX_TOLD} more"] if len(told) > MAX_TOLD else told

    def count(self) -> None:
        """Count an entry of any kind.

        Raises:
            TooMuchError: there are too many.
        """
        self._entries += 1
        if self._entries > MAX_ENTRIES:
            raise TooMuchError(f"more than {MAX_ENTRIES:,} files and folders")

    def add_folder(self, name: str) -> bool:
        """Return whether to look into a folder."""
        self.count()
        return not self._is_passed_over(name)

    def add_other(self, name: str, why: str) -> None:
        """Leave out an entry that is not a regular file, or cannot be read."""
        self.count()
        if not self._is_passed_over(name):
            self._left_out[name] = why

    def content(self, name: str) -> bytes | None:
        """Return the content of a file that was added; None if it was left out or does not exist."""
        file = self._after.get(name) or (self._before.get(name) if name in self._seen else None)
        return file.data if file else None

    def add_file(self, name: str, size: int, executable: bool, read: Callable[[], bytes]) -> None:
        """Add a regular file.

        Args:
            name: its path from the root of the repository.
            read: returns its content; not called if the file is left out.

        Raises:
            TooMuchError: the changes are too large for any answer.
        """
        self.count()
        if self._is_passed_over(name):
            return
        is_optional = name not in self._before and not name.endswith(IMPORTED)
        if is_optional and size > MAX_PATCH_BYTES:
            self._left_out[name] = f"larger than {MAX_PATCH_BYTES:,} bytes"
            return
        self._check_size(size)
        try:
            file = File(read(), executable)
        except OSError as error:
            self._left_out[name] = str(error.strerror)
            return
        if is_optional and not is_text(file.data):
            self._left_out[name] = "a new binary file"
            return
        if _are_settings(name) and file != self._before.get(name):
            self._left_out[name] = "settings of git are not part of an answer"
            return
        self._seen.add(name)
        if file != self._before.get(name):
            self._check_size(len(file.data))
            self._bytes += len(file.data)
            self._after[name] = file

    def patch(self) -> str:
        """The changes as a unified diff in git's format; empty if there is none.

        Raises:
            InfraError: git is missing.
        """
        deleted = [name for name in self._before if name not in self._seen and not self._is_kept(name)]
        for name in self._ignored():
            del self._after[name]
            self._left_out[name] = f"named by {_IGNORE}"
        changed = sorted([*deleted, *self._after])
        return "".join(_section(name, self._before.get(name), self._after.get(name)) for name in changed)

    def files(self) -> dict[str, File]:
        """The repository with the changes, without git; new files that its .gitignore names are part of it."""
        kept = {name: file for name, file in self._before.items() if name in self._seen or self._is_kept(name)}
        return dict(sorted({**kept, **self._after}.items()))

    def _check_size(self, size: int) -> None:
        if self._bytes + size > MAX_CHANGED_BYTES:
            raise TooMuchError(f"the changed files hold more than {MAX_CHANGED_BYTES >> 20} MB")

    def _is_passed_over(self, name: str) -> bool:
        """Return whether a name cannot be part of an answer; caches are left out without a note."""
        path = PurePosixPath(name)
        if self._is_hidden(path):
            return True
        if _GIT in path.parts:
            if path.name == _GIT and len(path.parts) > 1:
                self._left_out[name] = "a repository of its own; its files count as plain ones"
            return True
        if is_cache(name):
            return True
        try:
            check_path(name)
        except (LoadError, UnicodeError):
            self._left_out[name] = "an unsafe name"
        else:
            if len(path.parts) > MAX_PATCHED_DEPTH:
                self._left_out[name] = f"below more than {MAX_PATCHED_DEPTH} folders"
        return name in self._left_out

    def _is_kept(self, name: str) -> bool:
        """Return whether a file that was not added stays unchanged: it cannot be part of an answer, or is hidden."""
        is_hidden = self._is_hidden(PurePosixPath(name))
        return is_hidden or name in self._left_out or is_cache(name) or _are_settings(name)

    def _is_hidden(self, path: PurePosixPath) -> bool:
        """Return whether a folder above was left out."""
        return any(str(parent) in self._left_out for parent in path.parents)

    def _ignored(self) -> list[str]:
        """New files that the masked repository's own .gitignore names."""
        rules = {name: file for name, file in self._before.items() if PurePosixPath(name).name == _IGNORE}
        new = [name for name in self._after if name not in self._before]
        if not (rules and new):
            return []
        with tempfile.TemporaryDirectory(prefix="lmrbench-collect-") as place:
            folder = Path(place) / "rules"
            write_files(rules, folder)
            names = "".join(f"{name}\0" for name in new).encode()
            asked = ("check-ignore", "--no-index", "-z", "--stdin")
            # 1: it names none of them
            found = run_git(
                folder, *asked, stdin=names, directory=empty_git_directory(Path(place) / "git"), accepted=(0, 1)
            )
        return [name for name in found.decode().split("\0") if name]


def _are_settings(name: str) -> bool:
    return PurePosixPath(name).name == _ATTRIBUTES


def is_text(data: bytes) -> bool:
    """Return whether a patch can show the content: UTF-8 without NUL."""
    try:
        return "\0" not in data.decode("utf-8")
    except UnicodeDecodeError:
        return False


# --- the text of a patch ----------------------------------------------------------------------------------------------


def _section(name: str, old: File | None, new: File | None) -> str:
    """Return the section on one file: header, and hunks if its content differs."""
    left, right = _quoted(f"a/{name}"), _quoted(f"b/{name}")
    head = f"diff --git {left} {right}\n"
    if old is None and new is not None:
        head, left = f"{head}new file mode {_mode(new)}\n", "/dev/null"
    elif new is None and old is not None:
        head, right = f"{head}deleted file mode {_mode(old)}\n", "/dev/null"
    elif old is not None and new is not None and old.executable != new.executable:
        head += f"old mode {_mode(old)}\nnew mode {_mode(new)}\n"
    before, after = (file.data if file else b"" for file in (old, new))
    if before == after:
        return head
    try:
        # Part of a binary file can be text: a patch can show a change there.
        hunks = _hunks(before, after).decode("utf-8")
    except UnicodeDecodeError:
        hunks = "\0"
    if "\0" in hunks:
        return f"{head}Binary files {left} and {right} differ\n"
    return f"{head}--- {left}\n+++ {right}\n{hunks}"


def _hunks(before: bytes, after: bytes) -> bytes:
    """Return the difference between two contents; one side may be empty."""
    if before and after and b"\0" not in before + after:
        with tempfile.TemporaryDirectory(prefix="lmrbench-collect-") as place:
            folder = Path(place)
            (folder / "before").write_bytes(before)
            (folder / "after").write_bytes(after)
            plain = ("--no-index", "--text", "--no-color", "--no-ext-diff", "--no-textconv", "--unified=3")
            try:
                # 1: they differ
                shown = run_git(folder, "diff", *plain, "before", "after", accepted=(0, 1))
            except GitLimitError:
                pass  # as a whole, then
            else:
                return _HEADING.sub(rb"\1", shown[shown.index(b"\n@@ ") + 1 :])
    old, new = _lines(before), _lines(after)
    head = f"@@ -{int(bool(old))},{len(old)} +{int(bool(new))},{len(new)} @@\n".encode()
    return head + _marked(b"-", old) + _marked(b"+", new)


def _lines(data: bytes) -> list[bytes]:
    """Lines as git counts them: a line ends with a line feed and with nothing else."""
    lines = data.split(b"\n")
    ended = [line + b"\n" for line in lines[:-1]]
    return [*ended, lines[-1]] if lines[-1] else ended


def _marked(mark: bytes, lines: list[bytes]) -> bytes:
    text = b"".join(mark + line for line in lines)
    return text + b"\n\\ No newline at end of file\n" if text and not text.endswith(b"\n") else text


def _mode(file: File) -> str:
    return "100755" if file.executable else "100644"


def _quoted(name: str) -> str:
    """A path as git writes it: in quotes and with escapes if it holds anything odd."""
    if _PLAIN.fullmatch(name):
        return name
    return '"' + "".join(chr(byte) if chr(byte) in _SAFE else f"\\{byte:03o}" for byte in name.encode()) + '"'
