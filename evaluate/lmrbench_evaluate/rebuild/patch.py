"""Apply a unified diff, as agents make it with git, to the files of a repository.

By-products of running code are left out: caches, and new binary files that Python does not import.
`git diff` shows them as "Binary files differ", which cannot be applied, and no test reaches them.
"""

import glob
import itertools
import re
import tempfile
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from lmrbench_data.base.archive import is_left_behind, read_tree
from lmrbench_data.base.errors import LMRBenchError, LoadError
from lmrbench_data.base.git import GitError, GitLimitError, empty_git_directory, run_git
from lmrbench_data.base.source import MalformedAnswerError
from lmrbench_data.base.text import join_names
from lmrbench_data.loader import File, check_path, write_files

MAX_REPO_BYTES = 64 * 1024 * 1024
MAX_PATCHED_FILES = 500
MAX_PATCHED_DEPTH = 32
_CACHES = {".hypothesis", ".ipynb_checkpoints", ".cache", ".coverage", ".tox", ".nox"}
#: Extensions of files that Python imports.
IMPORTED = (".py", ".so", ".pyd", ".pth", ".zip", ".egg", ".whl")
#: Options for a patch that git refuses. Models miscount lines, but recounting would read
#: `--- a/next_file` as a removed line; editors cut blank lines at the end, and git wants context on
#: both sides of a change.
_LENIENT = ("--recount", "--unidiff-zero")


def apply_patch(files: Mapping[str, File], patch: str, notes: list[str]) -> dict[str, File]:
    """Apply a unified diff with `git apply`, in a temporary folder of the repository alone.

    git refuses paths outside the folder and beyond symbolic links; links that a patch creates are
    refused here. `.gitattributes` have no effect, not even those in the patch.

    Args:
        notes: receives a line for what was ignored, and for what was left out.

    Raises:
        MalformedAnswerError: it does not apply, or leaves entries other than plain files of
            reasonable size.
        InfraError: git is missing, or the machine has no time for it.
    """
    if not patch.strip():
        raise MalformedAnswerError("the patch is empty")
    with tempfile.TemporaryDirectory(prefix="lmrbench-patch-") as name:
        folder = Path(name).resolve() / "repo"
        empty_git_directory(folder.with_name("git"))
        written = _apply_or_repair(patch.removesuffix("\n") + "\n", files, folder, notes)
        patched = _read_patched(folder)
    for name in patched.keys() & files.keys():
        if written[name] != files[name]:
            patched[name] = _with_carriage_returns(patched[name], written[name], files[name])
    return patched


def _with_carriage_returns(patched: File, written: File, original: File) -> File:
    """Return a file with its carriage returns, without which it was written and patched."""
    if patched.data == written.data:
        return patched._replace(data=original.data)
    return patched._replace(data=patched.data.replace(b"\n", b"\r\n"))


def _read_patched(folder: Path) -> dict[str, File]:
    """Read the files that a patch left."""
    if sum(path.lstat().st_size for path in folder.rglob("*")) > MAX_REPO_BYTES:
        reason = f"the patch makes the repository larger than {MAX_REPO_BYTES} bytes"
        raise MalformedAnswerError(reason)
    try:
        return read_tree(folder)
    except LMRBenchError as error:
        problem = str(error).replace(str(folder), "")
        reason = f"the patch leaves entries other than plain files: {problem}"
        raise MalformedAnswerError(reason) from error


def is_cache(name: str) -> bool:
    """Return whether a file is a by-product of running code or of a system."""
    path = PurePosixPath(name)
    return is_left_behind(path) or bool(_CACHES.intersection(path.parts)) or path.suffix == ".pyo"


def _apply_or_repair(
    patch: str, files: Mapping[str, File], folder: Path, notes: list[str]
) -> Mapping[str, File]:
    """Write and patch the files, if need be without carriage returns; return what was written."""
    reason = ""
    for attempt in _attempts(patch, files):
        write_files(attempt.files, folder)
        try:
            left_out = _apply(attempt.patch, files, folder, *attempt.options)
        except GitLimitError as error:
            raise MalformedAnswerError(f"git needs {error.reason} to apply the patch") from None
        except (GitError, LoadError) as error:
            reason = reason or (error.reason if isinstance(error, GitError) else str(error))
            continue
        if attempt.ignored:
            notes.append(f"ignored in the patch: {', '.join(attempt.ignored)}")
        notes += left_out
        return attempt.files
    raise MalformedAnswerError(f"the patch does not apply: {reason}")


class _Attempt(NamedTuple):
    """A way to apply a patch."""

    patch: str
    files: Mapping[str, File]
    options: tuple[str, ...]
    ignored: tuple[str, ...]
    """The differences that it ignores, for a note."""


def _attempts(patch: str, files: Mapping[str, File]) -> Iterator[_Attempt]:
    """Yield ways to apply a patch, the strictest first."""
    unix_patch = re.sub(r"\r+(?=\n)", "", patch)
    unix_files = {name: _with_line_feeds(file) for name, file in files.items()}
    has_returns = unix_patch != patch or unix_files != files
    returns = "carriage returns"
    counts = "line counts and missing context"
    yield _Attempt(patch, files, (), ())
    if has_returns:
        yield _Attempt(unix_patch, unix_files, (), (returns,))
    yield _Attempt(patch, files, _LENIENT, (counts,))
    if has_returns:
        yield _Attempt(unix_patch, unix_files, _LENIENT, (returns, counts))


def _with_line_feeds(file: File) -> File:
    return file._replace(data=file.data.replace(b"\r\n", b"\n"))


def _apply(patch: str, files: Collection[str], folder: Path, *options: str) -> list[str]:
    """Apply a patch as a whole or not at all; return a line on what was left out, if anything was.

    Raises:
        GitError: git refuses it.
        LoadError: it touches a name that no file may have. Such names are refused before git
            applies anything, because `--exclude` would not match them.
    """
    arguments = ("apply", "--whitespace=nowarn", f"-p{_strip(patch, files)}", *options)

    def git(*more: str) -> bytes:
        directory = folder.with_name("git")
        return run_git(folder, *arguments, *more, "-", stdin=patch.encode(), directory=directory)

    names = _touched(git("--numstat", "-z"))
    _check_names(names)
    left_out = [name for name, is_binary in names.items() if _is_left_out(name, is_binary, files)]
    for name, is_binary in names.items():
        if is_binary and name not in left_out:
            reason = f"the patch changes the binary file {name[:100]!r}; only text can be patched"
            raise MalformedAnswerError(reason)
    if not left_out and names:
        git()
        return []
    shown = join_names([ascii(name[:80])[1:-1] for name in left_out])
    note = f"as by-products of running code: {shown}"
    if len(left_out) == len(names):
        empty = "the patch is empty"
        raise MalformedAnswerError(f"{empty} (left out {note})" if left_out else empty)
    git(*(f"--exclude={glob.escape(name)}" for name in left_out))
    return [f"left out of the patch {note}"]


def _check_names(names: Collection[str]) -> None:
    """Refuse too many files, and names that no file may have."""
    if len(names) > MAX_PATCHED_FILES:
        count = f"{len(names)} files, more than {MAX_PATCHED_FILES}"
        raise MalformedAnswerError(f"the patch touches {count}")
    for name in names:
        check_path(name)
        if name.count("/") > MAX_PATCHED_DEPTH:
            depth = f"more than {MAX_PATCHED_DEPTH} nested folders ({name[:60]}...)"
            raise MalformedAnswerError(f"the patch creates {depth}")


def _touched(numstat: bytes) -> dict[str, bool]:
    """Return the files that a patch touches, and whether it changes each as binary data."""
    names: dict[str, bool] = {}
    for entry in filter(None, numstat.split(b"\0")):
        # Bytes that are not UTF-8 become surrogates, which `check_path` refuses.
        added, _, name = entry.decode("utf-8", "surrogateescape").split("\t", 2)
        # A later part of the patch may change as text what an earlier one makes from binary data.
        names[name] = added == "-" or names.get(name, False)
    return names


def _is_left_out(name: str, is_binary: bool, files: Collection[str]) -> bool:
    """Return whether a file of a patch is a by-product of running code."""
    is_new_binary = is_binary and name not in files
    return is_cache(name) or (is_new_binary and not name.endswith(IMPORTED))


def _strip(text: str, files: Collection[str]) -> int:
    """Return the number of leading folders to strip: 1 (`a/`, `b/`), or 0 (`--no-prefix`)."""
    heads = re.findall(r"^diff --git (.*)$", text, re.MULTILINE)
    if heads:
        has_equal_names = any(
            head[: len(head) // 2] == head[len(head) // 2 + 1 :] for head in heads
        )
        return 0 if has_equal_names else 1
    return _strip_plain(text, files)


def _strip_plain(text: str, files: Collection[str]) -> int:
    """Return the number of leading folders to strip from a patch that git did not make."""
    plain = re.findall(r"^--- ([^\t\n]+).*\n\+\+\+ ([^\t\n]+)", text, re.MULTILINE)
    names = set(itertools.chain(*plain)) - {"/dev/null"}
    if not names:
        return 1
    has_folders = any("/" in name for name in names)
    is_bare = any(name in files and name.partition("/")[2] not in files for name in names)
    return 0 if is_bare or not has_folders else 1
