"""Apply a unified diff, as agents make it with git, to the files of a repository.

What running code leaves behind is left out: caches, and binary files that the repository does not have and Python does
not import. `git diff` shows them as "Binary files differ", which nobody can apply, and no test reaches them.
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

#: For git, which searches for the place of each hunk: its time grows with the square of a hostile patch's size.
MAX_PATCH_BYTES = 200_000
MAX_REPO_BYTES = 64 * 1024 * 1024
MAX_PATCHED_FILES = 500
MAX_PATCHED_DEPTH = 32
_CACHES = IGNORED_PARTS | {".hypothesis", ".ipynb_checkpoints", ".cache", ".coverage", ".tox", ".nox"}
#: What Python imports, by the ends of names.
IMPORTED = (".py", ".so", ".pyd", ".pth", ".zip", ".egg", ".whl")
_BINARY = re.compile(r"^(?:GIT binary patch$|Binary files .* differ$)", re.MULTILINE)
_REPO, _GIT = "repo", "git"


class Patch(NamedTuple):
    """A patch, ready for git, and the files whose changes were left out of it."""

    text: str
    left_out: Sequence[str]


def read_patch(patch: str, files: Collection[str]) -> Patch:
    """A patch without what running code left behind.

    Args:
        files: those of the repository.

    Raises:
        MalformedAnswerError: it changes nothing, a binary file that tests may reach, or is too large.
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
        also = f" (left out, as running code makes them: {_shown(left_out)})" if left_out else ""
        raise MalformedAnswerError(f"the patch is empty{also}")
    if len(text.encode()) > MAX_PATCH_BYTES:
        raise MalformedAnswerError(f"the patch is larger than {MAX_PATCH_BYTES} bytes")
    # Compressed deltas of a few bytes can unfold to any size.
    if re.search(r"^GIT binary patch$", text, re.MULTILINE):
        raise MalformedAnswerError("the patch holds binary files; only text can be patched")
    return Patch(text if text.endswith("\n") else text + "\n", left_out)


def is_cache(name: str) -> bool:
    """Whether a file is one that running code leaves behind."""
    return bool(_CACHES.intersection(PurePosixPath(name).parts)) or name.endswith((".pyc", ".pyo"))


def left_out_of(patch: str, files: Collection[str]) -> str:
    """What is told of files whose changes were left out, for the log; empty if there is nothing to tell."""
    try:
        left_out = read_patch(patch, files).left_out
    except MalformedAnswerError:  # the verdict says it
        return ""
    return f"left out of the patch, as running code makes them: {_shown(left_out)}\n" if left_out else ""


def apply_patch(files: Mapping[str, File], patch: str) -> dict[str, File]:
    """Apply a unified diff with `git apply`, in a temporary folder that holds nothing but the repository.

    git refuses paths outside the folder and beyond symbolic links; links that a patch creates are refused here. What
    `.gitattributes` say, those of the patch too, has no effect.

    Raises:
        MalformedAnswerError: it does not apply, or creates something other than plain files of reasonable size.
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
            # Models miscount lines. Counted anew, though, `--- a/next_file` would read as a line that is removed.
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
            raise MalformedAnswerError(f"the patch leaves more than plain files: {reason}") from error


# --- what a patch says ------------------------------------------------------------------------------------------------


def _without_transport(patch: str) -> str:
    """A patch whose header lines end in CRLF was saved as a text of Windows: all of its lines end so."""
    heads = re.findall(r"^(?:diff --git|---|\+\+\+|@@) .*$", patch, re.MULTILINE)
    return patch.replace("\r\n", "\n") if heads and all(head.endswith("\r") for head in heads) else patch


def _name(section: str) -> str:
    """The file that a section of git's format leaves behind, without the prefix; "" if that cannot be told."""
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
    """What stands behind `diff --git`: names may hold blanks, but in all but renames both are of one length."""
    if quoted := re.fullmatch(r'("(?:[^"\\]|\\.)*") ("(?:[^"\\]|\\.)*")', line):
        return _unquoted(quoted[1]), _unquoted(quoted[2])
    middle = len(line) // 2
    return line[:middle], line[middle + 1 :]


def _unquoted(name: str) -> str:
    """A path as git writes it: in quotes and with escapes if it holds anything odd."""
    if not (len(name) > 1 and name.startswith('"') and name.endswith('"')):
        return name
    plain = {"n": b"\n", "t": b"\t", "r": b"\r", "a": b"\a", "b": b"\b", "f": b"\f", "v": b"\v"}

    def char(found: re.Match[bytes]) -> bytes:
        code = found[1].decode("latin-1")
        return bytes([int(code, 8) & 255]) if code[0] in "01234567" else plain.get(code, found[1])

    return re.sub(rb"\\([0-7]{1,3}|.)", char, name[1:-1].encode(), flags=re.DOTALL).decode("utf-8", "replace")


def _strip(text: str, files: Collection[str]) -> int:
    """How many folders stand before the repository's paths: one (`a/`, `b/`), or none (`git diff --no-prefix`)."""
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
        raise MalformedAnswerError(f"git needs more than {CPU_S} s to find the places of the patch") from None
    except GitError as error:
        raise MalformedAnswerError(f"the patch does not apply: {error.reason}") from None


def _check_touched(numstat: bytes) -> None:
    """Refuse a patch before it touches the disk: too many files, or folders too deep to walk through."""
    names = [entry.split(b"\t", 2)[2].decode("utf-8", "replace") for entry in numstat.split(b"\0") if entry]
    if len(names) > MAX_PATCHED_FILES:
        raise MalformedAnswerError(f"the patch touches {len(names)} files, more than {MAX_PATCHED_FILES}")
    if deep := next((name for name in names if name.count("/") > MAX_PATCHED_DEPTH), None):
        raise MalformedAnswerError(f"the patch makes more than {MAX_PATCHED_DEPTH} nested folders ({deep[:60]}...)")
