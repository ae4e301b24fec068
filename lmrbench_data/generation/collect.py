"""Turn workspaces on the user's disk into rows of predictions, and add these to a file."""

import functools
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lmrbench_evaluate.predictions.prediction import check_track
from lmrbench_evaluate.rebuild.patch import MAX_PATCHED_DEPTH

from ..base.errors import ArgumentError, InputError
from ..base.files import read_regular
from ..base.names import clean_name
from ..dataset.rows import DatasetRow
from ..loader import File, read_archive
from .answer_log import AnswerLog, row_key
from .answer_patch import (
    FILE,
    FOLDER,
    MAX_CHANGED_BYTES,
    Answer,
    Entry,
    LeftFiles,
    TooMuchError,
    answer_of,
    is_passed_over,
    read_left,
)
from .workspace import REPO, read_marker


def collect_rows(
    folders: Sequence[Path], rows: Mapping[str, DatasetRow], *, model: str, setting: str, sample: int = 0
) -> list[dict[str, Any]]:
    """Turn the changes of agents in their workspaces into rows of predictions, one per workspace.

    Files that an agent left behind never raise an error: the row's `metadata` names them, as `left_out` or `problem`.

    Args:
        rows: the dataset's rows by instance id.
        sample: number of the first row of each instance and track; the others follow.

    Raises:
        ArgumentError: the model's name is not valid.
        InputError: a folder is not a workspace, or is of an instance that the dataset does not have.
        InfraError: git is missing.
    """
    try:
        model = clean_name(model)
    except ValueError as error:
        raise ArgumentError("model", f"{model!r} {error}") from None
    numbers: dict[tuple[str, str], int] = {}
    found = []
    for folder in folders:
        instance, track = read_marker(folder)
        if instance not in rows:
            raise InputError(f"{folder}: the dataset has no instance {instance!r}; name the one that it was made from")
        check_track(track)
        number = numbers[instance, track] = numbers.get((instance, track), sample - 1) + 1
        before = read_archive(rows[instance]["repo_archive"])
        try:
            answer = answer_of(before, read_folder(before, folder / REPO))
        except TooMuchError as error:
            answer = Answer(problem=str(error))
        facts = {"left_out": list(answer.left_out), "problem": answer.problem}
        found.append(
            {
                "instance_id": instance,
                "model_name_or_path": model,
                "setting": setting,
                "track": track,
                "sample": number,
                "model_patch": answer.patch,
                "metadata": {name: value for name, value in facts.items() if value},
            }
        )
    return found


def add_rows(path: Path, rows: Sequence[dict[str, Any]], *, replace: bool = False) -> int:
    """Add rows to a file of predictions, all or none; return the number of earlier rows that were replaced.

    Args:
        replace: whether a row replaces one of the same instance, model, setting, track and sample.

    Raises:
        ArgumentError: the file has such a row and `replace` is false, or it cannot be written.
        InputError: it is damaged.
    """
    with AnswerLog.open(path) as file:
        there = [key for key in map(row_key, rows) if key in file.keys]
        if there and not replace:
            instance, model, *_, number = there[0]
            raise ArgumentError(
                "out", f"{path} has sample {number} of {model!r} for {instance}; replace it, or renumber this one"
            )
        if there:
            file.replace(rows)
        else:
            for row in rows:
                file.write(row)
    return len(there)


# --- a folder that somebody else has owned, and may still write to ----------------------------------------------------

_KINDS = {stat.S_IFLNK: "a symbolic link", stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket"}
_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


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
