"""A dataset of several toy instances, and predictions for them, for runs that share the work."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lmrbench_data.dataset.rows import DatasetRow
from support.toy import TOY_ANSWER, WRONG, write_toys

INSTANCES = tuple(f"toy-{name}" for name in "abcde")
#: The last instance has no prediction.
ANSWERED = INSTANCES[:-1]
#: The columns that are equal in two evaluations of the same predictions.
COMMON = ("instance_id", "model_name_or_path", "sample", "prediction_sha256", "status", "core_status", "cases")


def write_shared_world(folder: Path, row: DatasetRow) -> tuple[Path, Path]:
    """Write the dataset and its predictions: two models, one with two samples; return their paths."""
    dataset, predictions = folder / "dataset", folder / "predictions.jsonl"
    write_toys(dataset, row, *INSTANCES)
    answers = [("good", 0, TOY_ANSWER), ("mixed", 0, WRONG), ("mixed", 1, f"{TOY_ANSWER}# another answer\n")]
    rows = [
        {"instance_id": name, "model_name_or_path": model, "sample": sample, "function": answer}
        for name in ANSWERED
        for model, sample, answer in answers
    ]
    predictions.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return dataset, predictions


def common(rows: list[Mapping[str, Any]]) -> list[str]:
    """Return results in a form that does not depend on the run, sorted; equal ones stay separate."""
    return sorted(json.dumps([row[name] for name in COMMON]) for row in rows)
