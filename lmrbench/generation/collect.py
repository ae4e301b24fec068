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
from .answer_patch import Answer, read_answer
from .workspace import REPO, read_marker


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
        InputError: a folder is not a workspace, or the dataset does not have its instance.
        InfraError: git is missing.
    """
    model = model_name(model, "model")
    numbers: Counter[tuple[str, str]] = Counter()
    made = []
    for folder in folders:
        instance, track = read_marker(folder)
        check_track(track)
        answer = _answer(folder, rows, instance)
        key = AnswerKey(instance, model, setting, track, sample + numbers[instance, track])
        made.append(answer.as_row(key, answer.as_metadata()))
        numbers[instance, track] += 1
    return made


def _answer(folder: Path, rows: Mapping[str, DatasetRow], instance: str) -> Answer:
    if instance not in rows:
        problem = f"the dataset has no instance {instance!r}; name the one that it was made from"
        raise InputError(f"{folder}: {problem}")
    return read_answer(read_archive(rows[instance]["repo_archive"]), folder / REPO)


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
        if not earlier:
            for row in rows:
                log.write(row)
        elif replace:
            log.replace(rows)
        else:
            first = earlier[0]
            sample = f"sample {first.sample} of {first.model!r} for {first.instance_id}"
            raise ArgumentError("out", f"{path} has {sample}; replace it, or renumber this one")
    return len(earlier)
