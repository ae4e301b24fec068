"""Classify the failed answers of a run: by people's labels where there are some, else by the model's.

Shares are of the failed answers that have a class; the number without one is stated beside them, with reasons. Two
shares are given for each class: of answers whose primary class it is (they sum to 1), and of answers that show it at
all.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lmrbench_evaluate.predictions.prediction import AnswerKey
from lmrbench_evaluate.reports.agreement import PairAgreement, majorities, match_labels
from lmrbench_evaluate.reports.annotations import Annotation
from lmrbench_evaluate.runs.folder import RunFolder
from lmrbench_evaluate.verdict.verdict import Status

from ...base.proportions import Share
from ...base.text import cut, plural
from ...base.text_table import Table
from ..bootstrap import kappa_interval
from ..result import Analysis
from .ask import has_failed, read_diagnoses
from .diagnosis import Diagnosis, ErrorClass

PEOPLE, MODEL = "people", "model"
#: Why a failed answer has no class.
NOT_ASKED_YET, SPLIT = "no diagnosis yet", "people are split evenly"
#: Characters of a quote in the table of answers.
MAX_QUOTE = 60
#: Keys of an answer; samples of one model for one instance share all but the last.
_KEYS = "instance_id", "model_name_or_path", "setting", "track", "sample"
TITLE = "Why answers fail"


def analyse_errors(
    run: Path,
    annotations: Sequence[Annotation] = (),
    *,
    model: str | None = None,
    instances: Sequence[str] = (),
) -> Analysis:
    """Collect the error classes of a run's failed answers; no model is asked.

    Args:
        annotations: people's labels, read with `diagnosis.COLUMN`.
        model: whose diagnoses; by default those of the model that was asked last.
        instances: only these; all by default.
    """
    import pandas as pd

    asked, diagnosed = read_diagnoses(run, model)
    results = [row for row in RunFolder(run).rows() if not instances or row["instance_id"] in instances]
    failed = {AnswerKey.of(row).row: row for row in results if has_failed(row)}
    matched = match_labels(annotations, failed)
    people, split = majorities(matched.labels)
    records, both = [], []
    for key, row in failed.items():
        malformed = str(row["status"]) if row["status"] == Status.MALFORMED else ""
        diagnosis, not_asked = diagnosed.get(AnswerKey.of(row).question, (None, malformed))
        reason = not_asked or (SPLIT if key in split else NOT_ASKED_YET)
        records.append(_record(key, people.get(key), diagnosis, reason))
        if diagnosis and key in people:
            both.append((key[0], people[key], diagnosis.label))
    classified = [row for row in records if row["by"]]
    shares = {error: _shares(error, classified) for error in ErrorClass}
    pair = PairAgreement(PEOPLE, MODEL, both)
    marks = [error["found"] for row in records for error in row["errors"]]
    left_out = Counter(row["reason"] for row in records if row["reason"])
    notes = [
        f"{len(records):,} of {plural(len(results), 'answer')} failed (by core cases in the paper track, by "
        f"all cases elsewhere), {len(classified)} of them classified; shares refer to these."
    ]
    if left_out:
        reasons = ", ".join(f"{n} ({reason})" for reason, n in sorted(left_out.items()))
        notes.append(f"Without a class: {reasons}.")
    if classified:
        notes.append("Primary shares sum to 100%; the model may name further classes of an answer. Wilson's 95%.")
    if asked:
        notes.append(
            f"Asked: {asked.model} (prompt {asked.prompt_version}). {sum(marks)} of {plural(len(marks), 'quote')} "
            "found in what it was shown; the others are marked with a question mark."
        )
    if matched.unknown:
        number = plural(len(matched.unknown), "label")
        notes.append(f"{number} of answers that this run does not have, or that did not fail.")
    if matched.ambiguous:
        notes.append(f"{plural(matched.ambiguous, 'label')} left out, which may mean several answers.")
    agreement = {
        "answers": len(both),
        "same_primary": pair.agreement.as_dict(),
        "kappa": {"value": pair.kappa, "ci95": kappa_interval(pair)},
    }
    numbers = {
        "run": str(run),
        "model": asked.model if asked else None,
        "prompt_version": asked.prompt_version if asked else None,
        "answers": len(results),
        "failed": len(records),
        "classified": len(classified),
        "without_class": dict(left_out),
        "classes": {
            str(error): {"primary": primary.as_dict(), "shown": shown.as_dict()}
            for error, (primary, shown) in shares.items()
        },
        "quotes": {"found": sum(marks), "all": len(marks)},
        "agreement": agreement if both else None,
        "by_answer": records,
    }
    tables = _tables(shares, records) if classified else []
    if both:
        kappa = "-" if pair.kappa is None else f"{pair.kappa:.2f}"
        rows = [["same primary class", pair.agreement.fraction], ["Cohen's kappa, primary class", kappa]]
        tables.append(("Model beside people", (["measure", "value"], rows)))
    return Analysis(TITLE, tables, notes, pd.DataFrame(records), numbers)


def _record(key: AnswerKey, people: str | None, diagnosis: Diagnosis | None, reason: str) -> dict[str, Any]:
    """Return a failed answer, its classes (people's, else the model's) and the model's evidence.

    Args:
        reason: why it has no class, if it has none.
    """
    classes = [people] if people else sorted(diagnosis.classes) if diagnosis else []
    return {
        **dict(zip(_KEYS, key[:5], strict=True)),
        "primary": people or (diagnosis.label if diagnosis else None),
        "classes": classes,
        "by": PEOPLE if people else MODEL if diagnosis else "",
        "reason": "" if classes else reason,
        "errors": diagnosis.model_dump(mode="json", by_alias=True)["errors"] if diagnosis else [],
    }


def _shares(error: ErrorClass, classified: Sequence[Mapping[str, Any]]) -> tuple[Share, Share]:
    """Return the shares of answers whose primary class it is, and of those that show it."""
    answers = [(tuple(row[name] for name in _KEYS[:4]), row) for row in classified]
    return (
        Share.clustered((answer, row["primary"] == error) for answer, row in answers),
        Share.clustered((answer, error in row["classes"]) for answer, row in answers),
    )


def _tables(
    shares: Mapping[ErrorClass, tuple[Share, Share]], records: Sequence[Mapping[str, Any]]
) -> list[tuple[str, Table]]:
    """Return the classes, and their numbers by model and by answer."""
    rows = [
        [str(error), *(text for share in both for text in (share.fraction, share.bounds))]
        for error, both in shares.items()
    ]
    counts: dict[tuple[str, ...], Counter[str]] = {}
    for row in records:
        model = tuple(row[name] for name in _KEYS[1:4])
        counts.setdefault(model, Counter()).update(["failed", row["primary"] or "no class"])
    columns = ["failed", *map(str, ErrorClass), "no class"]
    by_model = [
        [f"{model} ({', '.join(filter(None, others))})", *(str(numbers[name]) for name in columns)]
        for (model, *others), numbers in sorted(counts.items())
    ]
    by_answer = []
    for row in sorted(records, key=lambda row: [row[name] for name in _KEYS]):
        if row["by"]:
            name = row["model_name_or_path"] + (f" #{row['sample']}" if row["sample"] else "")
            others = ", ".join(error for error in row["classes"] if error != row["primary"])
            by_answer.append([row["instance_id"], name, row["primary"], others, row["by"], _quote(row)])
    return [
        (TITLE, (["class", "primary", "95%", "shown", "95%"], rows)),
        ("By model (primary class)", (["model", *columns], by_model)),
        ("By answer", (["instance", "model", "primary", "also", "by", "evidence of the model"], by_answer)),
    ]


def _quote(row: Mapping[str, Any]) -> str:
    """Return the model's quote for the class that counts, if it gave one."""
    quotes = [
        ("" if error["found"] else "? ") + cut(error["quote"], MAX_QUOTE)
        for error in row["errors"]
        if error["class"] == row["primary"]
    ]
    return quotes[0] if quotes else ""
