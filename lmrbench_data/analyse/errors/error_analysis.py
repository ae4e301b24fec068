"""Classify the failed answers of a run: by people's labels where there are some, else by the model's.

Shares are of the failed answers that have a class; the number without one is stated beside them, with reasons. Two
shares are given for each class: of answers whose primary class it is (they sum to 1), and of answers that show it at
all.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lmrbench_evaluate.judge.judgement_log import Judge
from lmrbench_evaluate.predictions.prediction import AnswerKey
from lmrbench_evaluate.reports.agreement import Matched, PairAgreement, majorities, match_labels
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


class _Classified(NamedTuple):
    """The failed answers of a run with their classes, and where these come from."""

    answers: int
    """Answers of the run, failed or not."""
    records: list[dict[str, Any]]
    """The failed ones (`_record`)."""
    asked: Judge | None
    pair: PairAgreement
    """Answers with labels of people and of the model."""
    matched: Matched

    @property
    def classified(self) -> list[dict[str, Any]]:
        """The failed answers that have a class."""
        return [row for row in self.records if row["by"]]

    @property
    def left_out(self) -> Counter[str]:
        """Reason → number of failed answers without a class."""
        return Counter(row["reason"] for row in self.records if row["reason"])

    @property
    def found(self) -> list[bool]:
        """For each quote of the model, whether it is in what the model was shown."""
        return [error["found"] for row in self.records for error in row["errors"]]


def analyse_errors(
    run: Path, annotations: Sequence[Annotation] = (), *, model: str | None = None, instances: Sequence[str] = ()
) -> Analysis:
    """Collect the error classes of a run's failed answers; no model is asked.

    Args:
        annotations: people's labels, read with `diagnosis.COLUMN`.
        model: whose diagnoses; by default those of the model that was asked last.
        instances: only these; all by default.
    """
    import pandas as pd

    answers = _collect(run, annotations, model, instances)
    shares = {error: _shares(error, answers.classified) for error in ErrorClass}
    tables = _tables(shares, answers.records) if answers.classified else []
    if answers.pair.labels:
        kappa = "-" if answers.pair.kappa is None else f"{answers.pair.kappa:.2f}"
        rows = [["same primary class", answers.pair.agreement.fraction], ["Cohen's kappa, primary class", kappa]]
        tables.append(("Model beside people", (["measure", "value"], rows)))
    numbers = {"run": str(run), **_numbers(answers, shares)}
    return Analysis(TITLE, tables, list(_notes(answers)), pd.DataFrame(answers.records), numbers)


def _collect(run: Path, annotations: Sequence[Annotation], model: str | None, instances: Sequence[str]) -> _Classified:
    """Return the failed answers of a run with the classes that people or the model gave."""
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
    return _Classified(len(results), records, asked, PairAgreement(PEOPLE, MODEL, both), matched)


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
    if unknown := answers.matched.unknown:
        yield f"{plural(len(unknown), 'label')} of answers that this run does not have, or that did not fail."
    if ambiguous := answers.matched.ambiguous:
        yield f"{plural(ambiguous, 'label')} left out, which may mean several answers."


def _numbers(answers: _Classified, shares: Mapping[ErrorClass, tuple[Share, Share]]) -> dict[str, Any]:
    """Return the JSON of the analysis."""
    asked, pair = answers.asked, answers.pair
    agreement = {
        "answers": len(pair.labels),
        "same_primary": pair.agreement.as_dict(),
        "kappa": {"value": pair.kappa, "ci95": kappa_interval(pair)},
    }
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
        "agreement": agreement if pair.labels else None,
        "by_answer": answers.records,
    }


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
