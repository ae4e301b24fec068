"""An agent's answer: the files that it left, compared with the masked repository by git.

Nothing that it left is run. Only regular text files with safe names can be part of an answer.
Anything else is left out and named, and the masked repository's file at that path stays.
"""

import os
import stat
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from lmrbench_data.base.errors import LMRBenchError, LoadError
from lmrbench_data.base.files import read_regular
from lmrbench_data.base.git import GitError, empty_git_directory, run_git
from lmrbench_data.base.text import one_line
from lmrbench_data.loader import File, check_path, write_files
from lmrbench_evaluate.predictions.prediction import (
    MAX_PATCH_BYTES,
    AnswerKey,
    Prediction,
    too_large,
)
from lmrbench_evaluate.rebuild.patch import IMPORTED, MAX_PATCHED_DEPTH, is_cache

#: Limit of all changed files together. A patch is smaller (`MAX_PATCH_BYTES`), but .gitignore
#: decides what belongs to it only after all files have been read.
MAX_CHANGED_BYTES = 32 * 2**20
#: Limit of files and folders to read; the box of an agent holds no more.
MAX_ENTRIES = 20_000
#: Number of left-out entries that a row names.
MAX_NAMED = 20
_ATTRIBUTES = ".gitattributes"
_KINDS = {stat.S_IFLNK: "a symbolic link", stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket"}
_PLAIN = (
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--no-renames",
    "--src-prefix=a/",
    "--dst-prefix=b/",
)
Files = Mapping[str, File]


class TooMuchError(LMRBenchError):
    """There is more than any answer needs; the message says of what."""


@dataclass
class LeftFiles:
    """The repository as an agent left it, without git, as far as it can be part of an answer."""

    before: Files
    """The masked repository."""
    folder: Path
    left_out: dict[str, str]
    """Entries that cannot be part of an answer, with the reasons."""
    files: dict[str, File] = field(default_factory=dict)
    _entries: int = 0
    _changed_bytes: int = 0

    def read(self) -> None:
        """Read the folder within limits, and note what cannot be part of an answer."""
        for place, folders, files in os.walk(self.folder, onerror=self._note):
            above = PurePosixPath(os.path.relpath(place, self.folder))
            entered = []
            for part in sorted([*folders, *files]):
                name = str(above / part)
                # Caches and git's own files are left out without a note.
                if not is_cache(name) and self._read_entry(name):
                    entered.append(part)
            folders[:] = entered

    def keep_masked(self) -> None:
        """Keep the masked repository's files in place of those that cannot be part of an answer."""
        for name, file in self.before.items():
            if name in self.files:
                continue
            is_left_out = name in self.left_out or is_below(name, self.left_out)
            if is_left_out or _is_fixed(name, file):
                self.files[name] = file
        # A file that is kept replaces a folder that the agent made in its place.
        names = [name for name in sorted(self.files) if not is_below(name, self.files)]
        self.files = {name: self.files[name] for name in names}

    def notes(self) -> tuple[str, ...]:
        """Return the first entries that are left out, with the reasons, for a row."""
        named = sorted(self.left_out.items())[:MAX_NAMED]
        return tuple(f"{one_line(name)[:100]} ({reason})" for name, reason in named)

    def _note(self, error: OSError) -> None:
        """Note a folder that cannot be read."""
        name = os.path.relpath(error.filename, self.folder)
        if name == ".":
            raise TooMuchError(f"the repository cannot be read ({error.strerror})")
        self.left_out[name] = str(error.strerror)

    def _read_entry(self, name: str) -> bool:
        """Read a file, if it can be part of an answer; return whether it is a folder to enter."""
        self._entries += 1
        if self._entries > MAX_ENTRIES:
            raise TooMuchError(f"more than {MAX_ENTRIES:,} files and folders")
        try:
            facts = (self.folder / name).lstat()
            reason = _obstacle(name, facts, is_new=name not in self.before)
            if not reason and stat.S_ISREG(facts.st_mode):
                reason = self._read_file(name, facts)
        except OSError as error:
            reason = str(error.strerror)
        if reason:
            self.left_out[name] = reason
            return False
        return stat.S_ISDIR(facts.st_mode)

    def _read_file(self, name: str, facts: os.stat_result) -> str:
        """Take a file into the answer, or return why it cannot be part of one."""
        if self._changed_bytes + facts.st_size > MAX_CHANGED_BYTES:
            raise TooMuchError(f"the changed files hold more than {MAX_CHANGED_BYTES >> 20} MB")
        data = read_regular(self.folder / name, MAX_CHANGED_BYTES)
        file = File(data, bool(facts.st_mode & stat.S_IXUSR))
        if file != self.before.get(name):
            if PurePosixPath(name).name == _ATTRIBUTES:
                return "settings of git are not part of an answer"
            if not _is_text(file.data):
                return "a binary file"
            self._changed_bytes += len(file.data)
        self.files[name] = file
        return ""


def read_folder(
    before: Files, folder: Path, left_out: Mapping[str, str] | None = None
) -> LeftFiles:
    """Read the repository that an agent left in a folder.

    Args:
        left_out: entries that did not get into the folder, with the reasons.

    Raises:
        TooMuchError: it cannot be read, or there is too much in it.
    """
    if folder.is_symlink() or not folder.is_dir():
        raise TooMuchError("the repository is gone")
    left = LeftFiles(before, folder, dict(left_out or {}))
    left.read()
    left.keep_masked()
    return left


def _name_problem(name: str) -> str:
    """Return why no patch can have this name; empty if it can."""
    try:
        check_path(name)
    except (LoadError, UnicodeError):
        return "an unsafe name"
    if " /" in name or "/ " in f"/{name}":
        return "a name that a patch cannot state"
    if name.count("/") >= MAX_PATCHED_DEPTH:
        return f"below more than {MAX_PATCHED_DEPTH} folders"
    return ""


def _is_fixed(name: str, file: File) -> bool:
    """Return whether no answer can remove a file of the masked repository."""
    if is_cache(name) or PurePosixPath(name).name == _ATTRIBUTES:
        return True
    return not _is_text(file.data)


def _obstacle(name: str, facts: os.stat_result, *, is_new: bool) -> str:
    """Return why an entry cannot be part of an answer, before it is read; empty if it may be."""
    kind = stat.S_IFMT(facts.st_mode)
    if kind not in (stat.S_IFREG, stat.S_IFDIR):
        return _KINDS.get(kind, "a device")
    problem = _name_problem(name)
    if problem:
        return problem
    is_optional = is_new and kind == stat.S_IFREG and not name.endswith(IMPORTED)
    if is_optional and facts.st_size > MAX_PATCH_BYTES:
        return f"larger than {MAX_PATCH_BYTES:,} bytes"
    return ""


def is_below(name: str, others: Mapping[str, object]) -> bool:
    """Return whether one of the others is a folder above."""
    return any(str(parent) in others for parent in PurePosixPath(name).parents)


def _is_text(data: bytes) -> bool:
    """Return whether a patch can show the content: UTF-8 without NUL."""
    try:
        return "\0" not in data.decode("utf-8")
    except UnicodeDecodeError:
        return False


class Answer(NamedTuple):
    """The changes of an agent as a patch."""

    patch: str = ""
    left_out: tuple[str, ...] = ()
    """The first `MAX_NAMED` entries that are not part of it, each with the reason."""
    problem: str = ""
    """The reason for a missing patch of an agent that ran."""

    def as_metadata(self) -> dict[str, Any]:
        """Return the keys of a row's metadata."""
        facts = {"problem": self.problem, "left_out": list(self.left_out)}
        return {name: value for name, value in facts.items() if value}

    def as_row(self, key: AnswerKey, metadata: Mapping[str, Any]) -> dict[str, Any]:
        """Return the row of predictions."""
        answer = Prediction(
            key.instance_id,
            key.model,
            "model_patch",
            self.patch,
            key.sample,
            key.setting,
            key.track,
            metadata,
            self.problem,
        )
        return answer.as_row()


def read_answer(before: Files, folder: Path, left_out: Mapping[str, str] | None = None) -> Answer:
    """Compare the repository that an agent left in a folder with the masked repository.

    Args:
        left_out: entries that did not get into the folder, with the reasons.

    Raises:
        InfraError: git is missing.
    """
    try:
        left = read_folder(before, folder, left_out)
        with tempfile.TemporaryDirectory(prefix="lmrbench-answer-") as place:
            patch = _diff(left, Path(place))
    except TooMuchError as error:
        return Answer(problem=one_line(error))
    except GitError as error:
        return Answer(problem=f"git cannot compare the changes ({error})")
    problem = too_large("model_patch", patch)
    return Answer("" if problem else patch, left.notes(), problem)


def _diff(left: LeftFiles, place: Path) -> str:
    """Return the patch in git's format, without new files that .gitignore names."""
    git = empty_git_directory(place / "git")
    old = _write_tree(left.before, place / "old", git)
    _leave_out_ignored(left, place / "old", git)
    new = _write_tree(left.files, place / "new", git)
    patch = run_git(place / "new", "diff", *_PLAIN, old, new, directory=git)
    return patch.decode("utf-8", "replace")


def _write_tree(files: Files, folder: Path, git: Path) -> str:
    """Write files into a folder; return the hash of their tree."""
    write_files(files, folder)
    run_git(folder, "add", "--all", "--force", directory=git)
    return run_git(folder, "write-tree", directory=git).decode().strip()


def _leave_out_ignored(left: LeftFiles, repo: Path, git: Path) -> None:
    """Leave out new files that the masked repository's own .gitignore names."""
    new = [name for name in left.files if name not in left.before]
    # `./`, because git takes a name that begins with a colon for a pattern.
    stdin = "".join(f"./{name}\0" for name in new).encode()
    command = ("check-ignore", "--no-index", "-z", "--stdin")
    # 1: it names none of them
    ignored = run_git(repo, *command, stdin=stdin, directory=git, accepted=(0, 1))
    for entry in ignored.decode().split("\0")[:-1]:
        name = entry.removeprefix("./")
        del left.files[name]
        left.left_out[name] = "named by .gitignore"
