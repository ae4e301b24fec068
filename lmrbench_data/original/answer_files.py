"""The files of an import about rebuilt answers: how each was rebuilt, and those that our own tests can evaluate."""

import json
from collections.abc import Mapping, Sequence

from lmrbench_evaluate.predictions.prediction import Prediction

from ..base.source import SourceError
from .answers import AGENT, Recovered
from .goals import Goal
from .import_folder import ImportFolder, csv_bytes
from .interfaces import Interface, as_function
from .published_results import Key
from .run_folders import SOURCE
from .task_rows import own_rows


def judgeable_answers(recovered: Sequence[Recovered], known: set[str]) -> dict[str, dict[Key, Prediction]]:
    """The rebuilt answers that can be judged, by model and function.

    Args:
        known: the instances that have a row.
    """
    found: dict[str, dict[Key, Prediction]] = {}
    for item in recovered:
        prediction = item.prediction() if item.function.instance_id in known else None
        if prediction is not None:
            found.setdefault(item.model, {})[item.function.paper, item.function.index] = prediction
    return found


def write_answers(
    folder: ImportFolder,
    recovered: Sequence[Recovered],
    goals: Sequence[Goal],
    interfaces: Sequence[Interface],
    judgeable: Mapping[str, Mapping[Key, Prediction]],
) -> int:
    """Write how each answer was rebuilt, and what our tests can evaluate; return the number of those answers.

    Args:
        judgeable: see `judgeable_answers`.
    """
    same = {item.instance_id for item in interfaces if item.is_same}
    index, answers = [], []
    for item in recovered:
        name, file = item.function.instance_id, item.file
        answer = None
        if name in same and item.goal and file and item.text is not None:
            names = {"instance_id": name, "model_name_or_path": item.model, "setting": AGENT}
            answer = _as_ours(item.goal, item.text, file.start or "", {**names, "metadata": item.metadata})
        index.append(
            {
                "model": item.model,
                "instance_id": name,
                "recovery": str(item.recovery),
                "edits": file.edits if file else 0,
                "refused": file.refused if file else 0,
                "listings": file.listings if file else 0,
                "differing": file.differing if file else 0,
                "judgeable": (item.function.paper, item.function.index) in judgeable.get(item.model, {}),
                "evaluable": answer is not None,
                "session": item.session,
                "why": item.why,
            }
        )
        if answer:
            answers.append(answer)
    references = []
    for goal in goals:
        if goal.golden is not None and goal.function.instance_id in same:
            names = {"instance_id": goal.function.instance_id, "model_name_or_path": f"{SOURCE}-reference"}
            references.append(_as_ours(goal, goal.golden, goal.masked or "", names))
    if index:
        folder.write("answers.csv", csv_bytes(index))
    if interfaces:
        folder.write("interfaces.csv", csv_bytes([{**item._asdict(), "same": item.is_same} for item in interfaces]))
    for file_name, rows in (("evaluable.jsonl", answers), ("references.jsonl", list(filter(None, references)))):
        if rows:
            folder.write(file_name, "".join(f"{json.dumps(row)}\n" for row in rows).encode("ascii"))
    return len(answers)


def _as_ours(goal: Goal, text: str, start: str, names: Mapping[str, object]) -> dict[str, object] | None:
    """A prediction for our instance; None if the function cannot be taken out of its file."""
    [row] = [row for row in own_rows() if row["instance_id"] == goal.function.instance_id]
    try:
        return {**names, "function": as_function(text, start, goal.name, row)}
    except (SourceError, RecursionError):
        return None
