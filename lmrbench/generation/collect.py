"""Turn workspaces on the user's disk into rows of predictions, and add these to a file."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lmrbench_data.base.errors import ArgumentError, InputError
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_data.loader import read_archive
from lmrbench_evaluate.predictions.prediction import AnswerKey, Prediction, check_track

from .answer_log import AnswerLog, model_name
from .answer_patch import Answer, TooMuchError, answer_of, read_folder
from .workspace import REPO, read_marker


def collect_rows(
    folders: Sequence[Path],
    rows: Mapping[str, DatasetRow],
    *,
    model: str,
    setting: str,
    sample: int = 0,
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
    model = model_name(model, "model")
    numbers: dict[tuple[str, str], int] = {}
    found = []
    for folder in folders:
        instance, track = read_marker(folder)
        if instance not in rows:
            raise InputError(
                f"{folder}: the dataset has no instance {instance!r}; name the one that it was made from"
            )
        check_track(track)
        number = numbers[instance, track] = numbers.get((instance, track), sample - 1) + 1
        before = read_archive(rows[instance]["repo_archive"])
        try:
            answer = answer_of(before, read_folder(before, folder / REPO))
        except TooMuchError as error:
            answer = Answer(problem=str(error))
        facts = {"left_out": list(answer.left_out), "problem": answer.problem}
        metadata = {name: value for name, value in facts.items() if value}
        names = instance, model, "model_patch", answer.patch, number, setting, track
        found.append(Prediction(*names, metadata, answer.problem).as_row())
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
        there = [key for row in rows if (key := AnswerKey.of(row).row) in file.keys]
        if there and not replace:
            sample = f"sample {there[0].sample} of {there[0].model!r} for {there[0].instance_id}"
            raise ArgumentError("out", f"{path} has {sample}; replace it, or renumber this one")
        if there:
            file.replace(rows)
        else:
            for row in rows:
                file.write(row)
    return len(there)
