"""Classify the failed answers of a run by the diagnoses of a model.

Shares are of the failed answers that have a class; the number without one is stated beside them, with reasons. Two
shares are given for each class: of answers whose primary class it is (they sum to 1), and of answers that show it at
all.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lmrbench_data.base.proportions import Share
from lmrbench_data.base.text import cut, plural
from lmrbench_data.base.text_table import Table
from lmrbench_evaluate.judge.judgement_log import Judge
from lmrbench_evaluate.predictions.prediction import AnswerKey
from lmrbench_evaluate.runs.folder import RunFolder
from lmrbench_evaluate.verdict.verdict import Status

from ..result import Analysis
from .ask import has_failed, read_diagnoses
from .diagnosis import Diagnosis, ErrorClass

#: Characters of a quote in the table of answers.
MAX_QUOTE = 60
#: Keys of an answer; samples of one model for one instance share all but the last.
_KEYS = "instance_id", "model_name_or_path", "setting", "track", "sample"
TITLE = "Why answers fail"


class _Classified(NamedTuple):
    """The failed answers of a run with their classes, and the model that gave these."""

    answers: int
    """Answers of the run, failed or not."""
    records: list[dict[str, Any]]
    """The failed ones (`_record`)."""
    asked: Judge | None

    @property
    def classified(self) -> list[dict[str, Any]]:
        """The failed answers that have a class."""
        return [row for row in self.records if row["primary"]]

    @property
    def left_out(self) -> Counter[str]:
        """Reason → number of failed answers without a class."""
        return Counter(row["reason"] for row in self.records if row["reason"])

    @property
    def found(self) -> list[bool]:
        """For each quote, whether it is in what the model was shown."""
        return [error["found"] for row in self.records for error in row["errors"]]


def analyse_errors(
    run: Path, *, model: str | None = None, instances: Sequence[str] = ()
) -> Analysis:
    """Collect the error classes of a run's failed answers (`read_diagnoses`); no model is asked."""
    import pandas as pd

    answers = _collect(run, model, instances)
    shares = {error: _shares(error, answers.classified) for error in ErrorClass}
    tables = _tables(shares, answers.records) if answers.classified else []
    numbers = {"run": str(run), **_numbers(answers, shares)}
    return Analysis(TITLE, tables, list(_notes(answers)), pd.DataFrame(answers.records), numbers)


def _collect(run: Path, model: str | None, instances: Sequence[str]) -> _Classified:
    """Return the failed answers of a run with the classes that the model gave."""
    asked, diagnosed = read_diagnoses(run, model)
    results = [
        row for row in RunFolder(run).rows() if not instances or row["instance_id"] in instances
    ]
    records = []
    for row in filter(has_failed, results):
        missing = str(row["status"]) if row["status"] == Status.MALFORMED else ""
        diagnosis, reason = diagnosed.get(AnswerKey.of(row).question, (None, missing))
        records.append(_record(AnswerKey.of(row).row, diagnosis, reason or "no diagnosis yet"))
    return _Classified(len(results), records, asked)


def _notes(answers: _Classified) -> Iterator[str]:
    """Yield what the numbers refer to, and what was left out."""
    yield (
        f"{len(answers.records):,} of {plural(answers.answers, 'answer')} failed (by core cases in the paper track, by "
        f"all cases elsewhere), {len(answers.classified)} of them classified; shares refer to these."
    )
    if left_out := answers.left_out:
        yield f"Without a class: {', '.join(f'{number} ({reason})' for reason, number in sorted(left_out.items()))}."
    if answers.classified:
        yield "Primary shares sum to 100%; the model may name further classes of an answer. Wilson's 95%."
    if asked := answers.asked:
        yield (
            f"Asked: {asked.model} (prompt {asked.prompt_version}). {sum(answers.found)} of "
            f"{plural(len(answers.found), 'quote')} found in what it was shown; the others are marked with a question "
            "mark."
        )


def _numbers(
    answers: _Classified, shares: Mapping[ErrorClass, tuple[Share, Share]]
) -> dict[str, Any]:
    """Return the JSON of the analysis."""
    asked = answers.asked
    return {
        "model": asked.model if asked else None,
        "prompt_version": asked.prompt_version if asked else None,
        "answers": answers.answers,
        "failed": len(answers.records),
        "classified": len(answers.classified),
        "without_class": dict(answers.left_out),
        "classes": {
            str(error): {"primary": primary.as_dict(), "shown": shown.as_dict()}
            for error, (primary, shown) in shares.items()
        },
        "quotes": {"found": sum(answers.found), "all": len(answers.found)},
        "by_answer": answers.records,
    }


def _record(key: AnswerKey, diagnosis: Diagnosis | None, reason: str) -> dict[str, Any]:
    """Return a failed answer, its classes and the evidence, or the reason why it has no class."""
    return {
        **dict(zip(_KEYS, key[:5], strict=True)),
        "primary": diagnosis.label if diagnosis else None,
        "classes": sorted(diagnosis.classes) if diagnosis else [],
        "reason": "" if diagnosis else reason,
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
        if row["primary"]:
            name = row["model_name_or_path"] + (f" #{row['sample']}" if row["sample"] else "")
            others = ", ".join(error for error in row["classes"] if error != row["primary"])
            by_answer.append([row["instance_id"], name, row["primary"], others, _quote(row)])
    return [
        (TITLE, (["class", "primary", "95%", "shown", "95%"], rows)),
        ("By model (primary class)", (["model", *columns], by_model)),
        ("By answer", (["instance", "model", "primary", "also", "evidence"], by_answer)),
    ]


def _quote(row: Mapping[str, Any]) -> str:
    """Return the quote for the primary class, with a question mark if it is made up."""
    error = next(error for error in row["errors"] if error["class"] == row["primary"])
    return ("" if error["found"] else "? ") + cut(error["quote"], MAX_QUOTE)
