"""Apply a unified diff, as agents make it with git, to the files of a repository.

By-products of running code are left out: caches, and new binary files that Python does not import. `git diff` shows
them as "Binary files differ", which cannot be applied, and no test reaches them.
"""

import glob
import re
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path, PurePosixPath

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
#: Blank lines that are restored at the end of a hunk; hostile headers claim a billion.
MAX_CUT_LINES = 20
_CACHES = IGNORED_PARTS | {".hypothesis", ".ipynb_checkpoints", ".cache", ".coverage", ".tox", ".nox"}
#: Extensions of files that Python imports.
IMPORTED = (".py", ".so", ".pyd", ".pth", ".zip", ".egg", ".whl")
_COLOUR = r"\x1b\[[0-9;]*[A-Za-z]"
_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")


def apply_patch(files: Mapping[str, File], patch: str, notes: list[str] | None = None) -> dict[str, File]:
    """Apply a unified diff with `git apply`, in a temporary folder that contains only the repository.

    git refuses paths outside the folder and beyond symbolic links; links that a patch creates are refused here.
    `.gitattributes` have no effect, not even those in the patch.

    Args:
        notes: receives a line for what was repaired, and for what was left out.

    Raises:
        MalformedAnswerError: it does not apply, or leaves entries other than plain files of reasonable size.
        InfraError: git is missing, or the machine has no time for it.
    """
    heads = re.findall(r"^(?:diff --git|---|\+\+\+|@@) .*$", patch, re.MULTILINE)
    # If all header lines end in CRLF, the whole patch was converted.
    text = patch.replace("\r\n", "\n") if heads and all(head.endswith("\r") for head in heads) else patch
    if not text.strip():
        raise MalformedAnswerError("the patch is empty")
    if len(text.encode()) > MAX_PATCH_BYTES:
        raise MalformedAnswerError(f"the patch is larger than {MAX_PATCH_BYTES} bytes")
    text = text if text.endswith("\n") else text + "\n"
    with tempfile.TemporaryDirectory(prefix="lmrbench-patch-") as name:
        folder = Path(name).resolve() / "repo"
        write_files(files, folder)
        empty_git_directory(folder.with_name("git"))
        messages = _apply_somehow(text, files, folder)
        if notes is not None:
            notes += messages
        if sum(path.lstat().st_size for path in folder.rglob("*")) > MAX_REPO_BYTES:
            raise MalformedAnswerError(f"the patch makes the repository larger than {MAX_REPO_BYTES} bytes")
        try:
            return read_tree(folder)
        except LMRBenchError as error:
            reason = str(error).replace(str(folder), "")
            raise MalformedAnswerError(f"the patch leaves entries other than plain files: {reason}") from error


def is_cache(name: str) -> bool:
    """Return whether a file is a cache."""
    return bool(_CACHES.intersection(PurePosixPath(name).parts)) or name.endswith((".pyc", ".pyo"))


def _apply_somehow(patch: str, files: Collection[str], folder: Path) -> list[str]:
    """Apply a patch as it is, or with lines recounted, or repaired; return a line for each repair and omission."""
    reason = ""
    repaired, repairs = _repair(patch)
    for text, message in ((patch, ""), (repaired, f"the patch was repaired: {', '.join(repairs)}")):
        # Models miscount lines. Recounting comes second: it would read `--- a/next_file` as a removed line.
        for options in ([], ["--recount"]) if not message or repairs else ():
            try:
                left_out = _apply(text, files, folder, *options)
            except GitLimitError:
                raise MalformedAnswerError(f"git needs more than {CPU_S} s to find where the patch applies") from None
            except GitError as error:
                reason = reason or error.reason
            else:
                also = f"left out of the patch as by-products of running code: {_shown(left_out)}" if left_out else ""
                return list(filter(None, (message, also)))
    raise MalformedAnswerError(f"the patch does not apply: {reason}")


def _repair(patch: str) -> tuple[str, list[str]]:
    """Undo what terminals and editors do to a patch; return it and what was done."""
    repairs = []
    for pattern, repair in ((_COLOUR, "terminal colours removed"), (r"\r+(?=\n)", "carriage returns removed")):
        patch, count = re.subn(pattern, "", patch)
        repairs += [repair] * bool(count)
    lines, rest = list[str](), [0, 0]
    for line in (*patch.removesuffix("\n").split("\n"), "@@ "):
        is_head = line.startswith(("@@ ", "diff --git "))
        if is_head and 0 < rest[0] == rest[1] <= MAX_CUT_LINES:  # an editor has cut the blank lines at the end
            lines += [" "] * rest[0]
            repairs.append("blank context lines restored")
        if is_head:
            counts = _HUNK.match(line)
            rest = [int(count or 1) for count in counts.groups()] if counts else [0, 0]
        elif any(rest):
            rest[0] -= not line.startswith(("+", "\\"))
            rest[1] -= not line.startswith(("-", "\\"))
        lines.append(line)
    return "\n".join(lines[:-1]) + "\n", list(dict.fromkeys(repairs))


def _apply(patch: str, files: Collection[str], folder: Path, *options: str) -> list[str]:
    """Apply a patch as a whole or not at all; return the files whose changes were left out.

    Raises:
        MalformedAnswerError: it changes nothing else, too many files, or a binary file that tests may reach.
        GitError: git refuses it.
    """
    arguments = ("apply", "--whitespace=nowarn", f"-p{_strip(patch, files)}", *options)

    def git(*more: str) -> bytes:
        return run_git(folder, *arguments, *more, "-", stdin=patch.encode(), directory=folder.with_name("git"))

    touched = [
        entry.decode("utf-8", "replace").split("\t", 2) for entry in git("--numstat", "-z").split(b"\0") if entry
    ]
    names = {name: added == "-" for added, _, name in touched}
    if len(names) > MAX_PATCHED_FILES:
        raise MalformedAnswerError(f"the patch touches {len(names)} files, more than {MAX_PATCHED_FILES}")
    if deep := next((name for name in names if name.count("/") > MAX_PATCHED_DEPTH), None):
        raise MalformedAnswerError(f"the patch creates more than {MAX_PATCHED_DEPTH} nested folders ({deep[:60]}...)")
    left_out = []
    for name, is_binary in names.items():
        if is_cache(name) or (is_binary and name not in files and not name.endswith(IMPORTED)):
            left_out.append(name)
        elif is_binary:
            raise MalformedAnswerError(f"the patch changes the binary file {name[:100]!r}; only text can be patched")
    if len(left_out) == len(names):
        also = f" (left out as by-products of running code: {_shown(left_out)})" if left_out else ""
        raise MalformedAnswerError(f"the patch is empty{also}")
    git(*(f"--exclude={glob.escape(name)}" for name in left_out))
    return left_out


def _strip(text: str, files: Collection[str]) -> int:
    """Return the number of leading folders to strip: one (`a/`, `b/`), or none (`git diff --no-prefix`)."""
    if heads := re.findall(r"^diff --git (.*)$", text, re.MULTILINE):
        return 0 if any(head[: len(head) // 2] == head[len(head) // 2 + 1 :] for head in heads) else 1
    plain = re.findall(r"^--- ([^\t\n]+).*\n\+\+\+ ([^\t\n]+)", text, re.MULTILINE)
    names = [name for pair in plain for name in pair if name != "/dev/null"]
    is_bare = any(name in files and name.partition("/")[2] not in files for name in names)
    return 0 if names and (is_bare or not any("/" in name for name in names)) else 1


def _shown(names: list[str]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(ascii(name[:80])[1:-1] for name in names[:5]) + more
