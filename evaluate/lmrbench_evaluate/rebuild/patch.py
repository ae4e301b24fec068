"""Apply a unified diff, as agents make it with git, to the files of a repository.

By-products of running code are left out: caches, and new binary files that Python does not import. `git diff` shows
them as "Binary files differ", which cannot be applied, and no test reaches them.
"""

import re
import tempfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from lmrbench_data.base.archive import IGNORED_PARTS, read_tree
from lmrbench_data.base.errors import LMRBenchError
from lmrbench_data.base.git import CPU_S, GitError, GitLimitError, empty_git_directory, run_git
from lmrbench_data.base.source import MalformedAnswerError
from lmrbench_data.loader import File, write_files

#: git searches for the place of each hunk, and its time grows with the square of the size of a hostile patch.
MAX_PATCH_BYTES = 200_000
MAX_REPO_BYTES = 64 * 1024 * 1024
MAX_PATCHED_FILES = 500
MAX_PATCHED_DEPTH = 32
_CACHES = IGNORED_PARTS | {".hypothesis", ".ipynb_checkpoints", ".cache", ".coverage", ".tox", ".nox"}
#: Extensions of files that Python imports.
IMPORTED = (".py", ".so", ".pyd", ".pth", ".zip", ".egg", ".whl")
_BINARY = re.compile(r"^(?:GIT binary patch$|Binary files .* differ$)", re.MULTILINE)
_REPO, _GIT = "repo", "git"


class Patch(NamedTuple):
    """A patch that is ready for git, and the files whose changes were left out."""

    text: str
    left_out: Sequence[str]


def read_patch(patch: str, files: Collection[str]) -> Patch:
    """Return a patch without by-products of running code.

    Args:
        files: the files of the repository.

    Raises:
        MalformedAnswerError: it is empty or too large, or changes a binary file that tests may reach.
    """
    text = _without_transport(patch)
    sections = re.split(r"^(?=diff --git )", text, flags=re.MULTILINE)
    kept, left_out = sections[:1], []
    for section in sections[1:]:
        name = _name(section)
        head, at, _ = section.partition("\n@@ ")
        is_binary = not at and _BINARY.search(head) is not None
        if is_cache(name) or (is_binary and name not in files and not name.endswith(IMPORTED)):
            left_out.append(name)
        elif is_binary:
            raise MalformedAnswerError(f"the patch changes the binary file {name[:100]!r}; only text can be patched")
        else:
            kept.append(section)
    text = "".join(kept)
    if not text.strip():
        also = f" (left out as by-products of running code: {_shown(left_out)})" if left_out else ""
        raise MalformedAnswerError(f"the patch is empty{also}")
    if len(text.encode()) > MAX_PATCH_BYTES:
        raise MalformedAnswerError(f"the patch is larger than {MAX_PATCH_BYTES} bytes")
    # A compressed delta of a few bytes can unfold to any size.
    if re.search(r"^GIT binary patch$", text, re.MULTILINE):
        raise MalformedAnswerError("the patch contains binary files; only text can be patched")
    return Patch(text if text.endswith("\n") else text + "\n", left_out)


def is_cache(name: str) -> bool:
    """Return whether a file is a cache."""
    return bool(_CACHES.intersection(PurePosixPath(name).parts)) or name.endswith((".pyc", ".pyo"))


def left_out_of(patch: str, files: Collection[str]) -> str:
    """Return a line for the log about files whose changes were left out; empty if there are none."""
    try:
        left_out = read_patch(patch, files).left_out
    except MalformedAnswerError:  # the verdict reports it
        return ""
    return f"left out of the patch as by-products of running code: {_shown(left_out)}\n" if left_out else ""


def apply_patch(files: Mapping[str, File], patch: str) -> dict[str, File]:
    """Apply a unified diff with `git apply`, in a temporary folder that contains only the repository.

    git refuses paths outside the folder and beyond symbolic links; links that a patch creates are refused here.
    `.gitattributes` have no effect, not even those in the patch.

    Raises:
        MalformedAnswerError: it does not apply, or leaves entries other than plain files of reasonable size.
        InfraError: git is missing, or the machine has no time for it.
    """
    text = read_patch(patch, files).text
    strip = f"-p{_strip(text, files)}"
    with tempfile.TemporaryDirectory(prefix="lmrbench-patch-") as name:
        folder = Path(name).resolve() / _REPO
        write_files(files, folder)
        empty_git_directory(folder.with_name(_GIT))
        try:
            _git_apply(text.encode(), folder, strip)
        except MalformedAnswerError as error:
            # Models miscount lines. Recounting comes second: it would read `--- a/next_file` as a removed line.
            try:
                _git_apply(text.encode(), folder, strip, "--recount")
            except MalformedAnswerError:
                raise error from None
        if sum(path.lstat().st_size for path in folder.rglob("*")) > MAX_REPO_BYTES:
            raise MalformedAnswerError(f"the patch makes the repository larger than {MAX_REPO_BYTES} bytes")
        try:
            return read_tree(folder)
        except LMRBenchError as error:
            reason = str(error).replace(str(folder), "")
            raise MalformedAnswerError(f"the patch leaves entries other than plain files: {reason}") from error


# --- parse a patch ---------------------------------------------------------------------------------------------------


def _without_transport(patch: str) -> str:
    """Undo Windows line endings: if all header lines end in CRLF, the whole patch was converted."""
    heads = re.findall(r"^(?:diff --git|---|\+\+\+|@@) .*$", patch, re.MULTILINE)
    return patch.replace("\r\n", "\n") if heads and all(head.endswith("\r") for head in heads) else patch


def _name(section: str) -> str:
    """Return the file that a section of git's format writes, without its prefix; "" if it is ambiguous."""
    head = section.partition("\n@@ ")[0]
    for mark in ("rename to ", "copy to "):
        if found := re.search(rf"^{mark}(.*)$", head, re.MULTILINE):
            return _unquoted(found[1])
    old, new = _both_names(head.partition("\n")[0].removeprefix("diff --git "))
    if old == new:
        return new
    same = old.partition("/")[2] == new.partition("/")[2]
    return new.partition("/")[2] if same else ""


def _both_names(line: str) -> tuple[str, str]:
    """Split the two names after `diff --git`: they may contain spaces, but except in renames they are equally long."""
    if quoted := re.fullmatch(r'("(?:[^"\\]|\\.)*") ("(?:[^"\\]|\\.)*")', line):
        return _unquoted(quoted[1]), _unquoted(quoted[2])
    middle = len(line) // 2
    return line[:middle], line[middle + 1 :]


def _unquoted(name: str) -> str:
    """Undo git's quoting of a path with unusual characters."""
    if not (len(name) > 1 and name.startswith('"') and name.endswith('"')):
        return name
    plain = {"n": b"\n", "t": b"\t", "r": b"\r", "a": b"\a", "b": b"\b", "f": b"\f", "v": b"\v"}

    def char(found: re.Match[bytes]) -> bytes:
        code = found[1].decode("latin-1")
        return bytes([int(code, 8) & 255]) if code[0] in "01234567" else plain.get(code, found[1])

    return re.sub(rb"\\([0-7]{1,3}|.)", char, name[1:-1].encode(), flags=re.DOTALL).decode("utf-8", "replace")


def _strip(text: str, files: Collection[str]) -> int:
    """Return the number of leading folders to strip: one (`a/`, `b/`), or none (`git diff --no-prefix`)."""
    git = [_both_names(line) for line in re.findall(r"^diff --git (.*)$", text, re.MULTILINE)]
    if git:
        return 0 if any(old == new for old, new in git) else 1
    plain = re.findall(r"^--- ([^\t\n]+).*\n\+\+\+ ([^\t\n]+)", text, re.MULTILINE)
    names = [name for pair in plain for name in pair if name != "/dev/null"]
    is_bare = any(name in files and name.partition("/")[2] not in files for name in names)
    return 0 if names and (is_bare or not any("/" in name for name in names)) else 1


def _shown(names: Sequence[str]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(ascii(name[:80])[1:-1] for name in names[:5]) + more


# --- git --------------------------------------------------------------------------------------------------------------


def _git_apply(patch: bytes, folder: Path, *options: str) -> None:
    """Apply a patch as a whole or not at all."""
    _check_touched(_git(patch, folder, *options, "--numstat", "-z"))
    _git(patch, folder, *options)


def _git(patch: bytes, folder: Path, *options: str) -> bytes:
    arguments = ("apply", "--whitespace=nowarn", *options, "-")
    try:
        return run_git(folder, *arguments, stdin=patch, directory=folder.with_name(_GIT))
    except GitLimitError:
        raise MalformedAnswerError(f"git needs more than {CPU_S} s to find where the patch applies") from None
    except GitError as error:
        raise MalformedAnswerError(f"the patch does not apply: {error.reason}") from None


def _check_touched(numstat: bytes) -> None:
    """Refuse a patch with too many files or too deep folders before it is written to the disk."""
    names = [entry.split(b"\t", 2)[2].decode("utf-8", "replace") for entry in numstat.split(b"\0") if entry]
    if len(names) > MAX_PATCHED_FILES:
        raise MalformedAnswerError(f"the patch touches {len(names)} files, more than {MAX_PATCHED_FILES}")
    if deep := next((name for name in names if name.count("/") > MAX_PATCHED_DEPTH), None):
        raise MalformedAnswerError(f"the patch creates more than {MAX_PATCHED_DEPTH} nested folders ({deep[:60]}...)")
