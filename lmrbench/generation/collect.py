"""Turn workspaces on the user's disk into rows of predictions, and add these to a file."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lmrbench_data.base.errors import ArgumentError, InputError
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_data.loader import read_archive
from lmrbench_evaluate.predictions.prediction import AnswerKey, check_track

from .answer_log import AnswerLog, model_name
from .answer_patch import read_answer
from .workspace import REPO, Marker, read_marker


def collect_rows(
    folders: Sequence[Path],
    rows: Mapping[str, DatasetRow],
    *,
    model: str,
    setting: str,
    sample: int = 0,
) -> list[dict[str, Any]]:
    """Turn the changes of agents in their workspaces into rows of predictions.

    Files that an agent left behind never raise an error: the row's `metadata` names them, as
    `left_out` or `problem`.

    Args:
        rows: the dataset's rows by instance id.
        sample: number of the first row of each instance and track; the others follow.

    Raises:
        ArgumentError: the model's name is not valid.
        InputError: a folder is not a workspace, or the dataset does not have its row.
        InfraError: git is missing.
    """
    model = model_name(model, "model")
    numbers: Counter[Marker] = Counter()
    collected = []
    for folder in folders:
        marker = read_marker(folder)
        check_track(marker.track)
        row = _row_of(marker, rows, folder)
        answer = read_answer(read_archive(row["repo_archive"]), folder / REPO)
        number = sample + numbers[marker]
        key = AnswerKey(marker.instance_id, model, setting, marker.track, number)
        collected.append(answer.as_row(key, answer.as_metadata()))
        numbers[marker] += 1
    return collected


def _row_of(marker: Marker, rows: Mapping[str, DatasetRow], folder: Path) -> DatasetRow:
    """Return the row that a workspace was made from."""
    instance = marker.instance_id
    if instance not in rows:
        problem = f"the dataset has no instance {instance!r}; name the one that it was made from"
        raise InputError(f"{folder}: {problem}")
    row = rows[instance]
    if row["row_sha256"] != marker.row_sha256:
        problem = f"was made from another version of {instance}; name that dataset"
        raise InputError(f"{folder}: {problem}")
    return row


def add_rows(path: Path, rows: Sequence[dict[str, Any]], *, replace: bool = False) -> int:
    """Add rows to a file of predictions, all or none; return how many earlier rows they replaced.

    Args:
        replace: whether a row replaces one of the same instance, model, setting, track and sample.

    Raises:
        ArgumentError: the file has such a row and `replace` is false, or it cannot be written.
        InputError: it is damaged.
    """
    with AnswerLog.open(path) as log:
        keys = [AnswerKey.of(row).row for row in rows]
        earlier = [key for key in keys if key in log.keys]
        if earlier and not replace:
            raise ArgumentError("out", f"{path} has {earlier[0]}; replace it, or renumber this one")
        if earlier:
            log.replace(rows)
        else:
            for row in rows:
                log.write(row)
    return len(earlier)
