"""Classify the failed answers of a run by the diagnoses of a model.

Shares are of the failed answers that have a class; the number without one is stated beside them,
with reasons. Two shares are given for each class: of answers whose primary class it is (they sum
to 1), and of answers that show it at all.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lmrbench_data.base.proportions import Share
from lmrbench_data.base.text import plural
from lmrbench_data.dataset.result_rows import ResultRow
from lmrbench_evaluate.judge.judgement_log import Judge
from lmrbench_evaluate.predictions.prediction import AnswerKey
from lmrbench_evaluate.reports.text_table import Table
from lmrbench_evaluate.runs.folder import RunFolder
from lmrbench_evaluate.verdict.verdict import Status

from ..result import Analysis
from .ask import Diagnosed, has_failed, read_diagnoses
from .diagnosis import ErrorClass

TITLE = "Why answers fail"
#: Keys of a record that name an answer.
_ANSWER = ("instance_id", "model_name_or_path", "setting", "track", "sample")

#: A failed answer with its classes and the evidence, or the reason why it has no class.
Record = Mapping[str, Any]


def analyse_errors(
    run: Path, *, model: str | None = None, instances: Sequence[str] = ()
) -> Analysis:
    """Collect the error classes of a run's failed answers; no model is asked."""
    import pandas as pd

    asked, diagnosed = read_diagnoses(run, model)
    rows = _chosen_rows(run, instances)
    records = [_record(row, diagnosed) for row in rows if has_failed(row)]
    classified = [record for record in records if record["primary"]]
    shares = {error: _shares(error, classified) for error in ErrorClass}
    numbers = {
        "run": str(run),
        **_judge_names(asked),
        "answers": len(rows),
        "failed": len(records),
        "classified": len(classified),
        **_class_numbers(records, shares),
        "by_answer": records,
    }
    tables = [(TITLE, _class_table(shares))] if classified else []
    return Analysis(TITLE, tables, _notes(numbers), pd.DataFrame(records), numbers)


def _chosen_rows(run: Path, instances: Sequence[str]) -> list[ResultRow]:
    rows = RunFolder(run).rows()
    return [row for row in rows if not instances or row["instance_id"] in instances]


def _judge_names(judge: Judge | None) -> dict[str, str | None]:
    if judge is None:
        return {"model": None, "prompt_version": None}
    return {"model": judge.model, "prompt_version": judge.prompt_version}


def _class_numbers(
    records: Sequence[Record], shares: Mapping[ErrorClass, tuple[Share, Share]]
) -> dict[str, Any]:
    reasons = Counter(record["reason"] for record in records if not record["primary"])
    classes = {}
    for error, (primary, shown) in shares.items():
        classes[str(error)] = {"primary": primary.as_dict(), "shown": shown.as_dict()}
    return {"without_class": reasons, "classes": classes}


def _record(row: ResultRow, diagnosed: Mapping[AnswerKey, Diagnosed]) -> Record:
    key = AnswerKey.of(row)
    names = dict(zip(_ANSWER, key, strict=False))
    diagnosis, reason = diagnosed.get(key.question, Diagnosed(None))
    if diagnosis:
        dumped = diagnosis.model_dump(mode="json", by_alias=True)
        return {
            **names,
            "primary": diagnosis.label,
            "classes": sorted(diagnosis.classes),
            "reason": "",
            "errors": dumped["errors"],
        }
    reason = reason or _missing_reason(row)
    return {**names, "primary": None, "classes": [], "reason": reason, "errors": []}


def _missing_reason(row: ResultRow) -> str:
    if row["status"] == Status.MALFORMED:
        return str(Status.MALFORMED)
    return "no diagnosis yet"


def _shares(error: ErrorClass, classified: Sequence[Record]) -> tuple[Share, Share]:
    """Return the shares of answers whose primary class it is, and of those that show it.

    Samples of one model for one instance are one unit.
    """
    units = [tuple(record[name] for name in _ANSWER[:-1]) for record in classified]
    is_primary = [record["primary"] == error for record in classified]
    is_shown = [error in record["classes"] for record in classified]
    primary = Share.clustered(zip(units, is_primary, strict=True))
    shown = Share.clustered(zip(units, is_shown, strict=True))
    return primary, shown


# --- text -----------------------------------------------------------------------------------------


def _notes(numbers: Mapping[str, Any]) -> list[str]:
    """Return what the numbers refer to, and what was left out."""
    lines = [
        f"{numbers['failed']:,} of {plural(numbers['answers'], 'answer')} failed (by core cases in "
        f"the paper track, by all cases elsewhere), {numbers['classified']} of them classified; "
        "shares refer to these."
    ]
    reasons = sorted(numbers["without_class"].items())
    if reasons:
        counts = ", ".join(f"{number} ({reason})" for reason, number in reasons)
        lines.append(f"Without a class: {counts}.")
    if numbers["classified"]:
        lines.append(
            "Primary shares sum to 100%; the model may name further classes of an answer. Wilson's "
            "95%."
        )
    if numbers["model"]:
        lines.append(f"Asked: {numbers['model']} (prompt {numbers['prompt_version']}).")
    return lines


def _class_table(shares: Mapping[ErrorClass, tuple[Share, Share]]) -> Table:
    rows = []
    for error, (primary, shown) in shares.items():
        cells = [primary.fraction, primary.bounds, shown.fraction, shown.bounds]
        rows.append([str(error), *cells])
    return ["class", "primary", "95%", "shown", "95%"], rows
