"""Classify the failed answers of a run: by people's labels where there are some, else by the model's.

Shares are of the failed answers that have a class; the number without one is stated beside them, with reasons. Two
shares are given for each class: of answers whose primary class it is (they sum to 1), and of answers that show it at
all.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lmrbench_evaluate.judge.question_log import answer_id
from lmrbench_evaluate.predictions.prediction import PredictionKey
from lmrbench_evaluate.reports.agreement import PairAgreement, match_labels
from lmrbench_evaluate.reports.annotations import Annotation
from lmrbench_evaluate.runs.folder import RunFolder

from ...base.shares import Share
from ...base.text import counted
from ...base.text_table import Table
from ...dataset.rows import ResultRow
from ..bootstrap import kappa_interval
from ..result import Analysis
from .ask import has_failed, read_diagnoses
from .diagnosis import Classes, Diagnosis, ErrorClass, read_classes

PEOPLE, MODEL = "people", "model"
#: Why a failed answer has no class.
NOT_ASKED_YET, SPLIT = "no diagnosis yet", "people are split evenly"
#: Characters of a quote in the table of answers.
MAX_QUOTE = 60


TITLE = "Why answers fail"


class FailedAnswer(NamedTuple):
    """A failed answer and why it fails."""

    key: PredictionKey
    people: Sequence[Classes]
    """The labels of each person."""
    diagnosis: Diagnosis | None
    """The model's."""
    not_asked: str
    """The reason why no model can be asked."""

    @property
    def majority(self) -> Classes | None:
        """The most frequent primary class of people, and each class that more than half of them name.

        None without labels, or if two primary classes are equally frequent.
        """
        ranked = Counter(item.primary for item in self.people).most_common()
        if not ranked or (len(ranked) > 1 and ranked[0][1] == ranked[1][1]):
            return None
        named = Counter(error for item in self.people for error in item.all)
        common = {error for error in named if 2 * named[error] > len(self.people)}
        return Classes(ranked[0][0], frozenset({ranked[0][0], *common}))

    @property
    def classes(self) -> Classes | None:
        """People's classes, else the model's."""
        return self.majority or (self.diagnosis.classes if self.diagnosis else None)

    @property
    def by(self) -> str:
        """`people` or `model`; empty without a class."""
        return PEOPLE if self.majority else MODEL if self.diagnosis else ""

    @property
    def reason(self) -> str:
        """The reason for a missing class."""
        return "" if self.by else self.not_asked or (SPLIT if self.people else NOT_ASKED_YET)

    @property
    def quote(self) -> str:
        """The model's quote for the class that counts, if it gave one."""
        for item in self.diagnosis.errors if self.diagnosis else ():
            if self.classes and item.error is self.classes.primary:
                text = item.quote if len(item.quote) <= MAX_QUOTE else f"{item.quote[: MAX_QUOTE - 1]}…"
                return text if item.found else f"? {text}"
        return ""

    def as_dict(self) -> dict[str, Any]:
        """The answer, its classes and the model's evidence."""
        names = "instance_id", "model_name_or_path", "setting", "track", "sample"
        return {
            **dict(zip(names, self.key, strict=True)),
            "primary": str(self.classes.primary) if self.classes else None,
            "classes": sorted(self.classes.all) if self.classes else [],
            "by": self.by,
            "reason": self.reason,
            "errors": self.diagnosis.row()["errors"] if self.diagnosis else [],
        }


#: The failed answers that have classes.
Classified = Sequence[tuple[FailedAnswer, Classes]]


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

    Raises:
        InputError: no run folder, or a damaged one.
    """
    import pandas as pd

    asked, diagnosed = read_diagnoses(run, model)
    results = [row for row in RunFolder(run).rows() if not instances or row["instance_id"] in instances]
    failed = {_key(row): answer_id(row) for row in results if has_failed(row)}
    matched = match_labels(annotations, failed)
    answers = []
    for key, answer in failed.items():
        labels = [read_classes(labels[key]) for labels in matched.labels.values() if key in labels]
        diagnosis, not_asked = diagnosed.get(answer, (None, ""))
        answers.append(FailedAnswer(key, [label for label in labels if label], diagnosis, not_asked))
    classified = [(item, item.classes) for item in answers if item.classes]
    shares = {error: _shares(error, classified) for error in ErrorClass}
    pair = _agreement(answers)
    marks = [error.found for item in answers if item.diagnosis for error in item.diagnosis.errors]
    left_out = Counter(item.reason for item in answers if item.reason)
    notes = [
        f"{len(answers):,} of {counted(len(results), 'answer')} failed (by core cases in the paper track, by "
        f"all cases elsewhere), {len(classified)} of them classified; shares refer to these."
    ]
    if left_out:
        reasons = ", ".join(f"{n} ({reason})" for reason, n in sorted(left_out.items()))
        notes.append(f"Without a class: {reasons}.")
    if classified:
        notes.append(
            "Primary shares sum to 100 %; an answer may show several classes, so the others need not. Wilson's 95 %."
        )
    if asked:
        notes.append(
            f"Asked: {asked.model} (prompt {asked.prompt_version}). {sum(marks)} of {counted(len(marks), 'quote')} "
            "found in what it was shown; the others are marked with a question mark."
        )
    if matched.unknown:
        labels_of = counted(len(matched.unknown), "label")
        notes.append(f"{labels_of} of answers that this run does not have, or that did not fail.")
    if matched.ambiguous:
        labels_of = counted(matched.ambiguous, "label")
        notes.append(f"{labels_of} left out: no setting or track, and the model answered in several.")
    records = [item.as_dict() for item in answers]
    agreement = {
        "answers": len(pair.labels),
        "same_primary": pair.agreement.as_dict(),
        "kappa": {"value": pair.kappa, "ci95": kappa_interval(pair)},
    }
    numbers = {
        "run": str(run),
        "model": asked.model if asked else None,
        "prompt_version": asked.prompt_version if asked else None,
        "answers": len(results),
        "failed": len(answers),
        "classified": len(classified),
        "without_class": dict(left_out),
        "classes": {
            str(error): {"primary": primary.as_dict(), "shown": shown.as_dict()}
            for error, (primary, shown) in shares.items()
        },
        "quotes": {"found": sum(marks), "all": len(marks)},
        "agreement": agreement if pair.labels else None,
        "by_answer": records,
    }
    tables = _tables(shares, answers, classified) if classified else []
    if pair.labels:
        kappa = "-" if pair.kappa is None else f"{pair.kappa:.2f}"
        rows = [["same primary class", pair.agreement.fraction], ["Cohen's kappa, primary class", kappa]]
        tables.append(("Model beside people", (["measure", "value"], rows)))
    return Analysis(TITLE, tables, notes, pd.DataFrame(records), numbers)


def _shares(error: ErrorClass, classified: Classified) -> tuple[Share, Share]:
    """Return the shares of answers whose primary class it is, and of those that show it.

    Samples of one model for one instance are not independent.
    """
    return (
        Share.clustered((item.key[:4], classes.primary is error) for item, classes in classified),
        Share.clustered((item.key[:4], error in classes.all) for item, classes in classified),
    )


def _agreement(answers: Sequence[FailedAnswer]) -> PairAgreement:
    """Compare people and the model on the primary class of the answers that both gave one."""
    labels = [
        (item.key[0], str(item.majority.primary), str(item.diagnosis.primary))
        for item in answers
        if item.majority and item.diagnosis
    ]
    return PairAgreement(PEOPLE, MODEL, labels)


def _tables(
    shares: Mapping[ErrorClass, tuple[Share, Share]], answers: Sequence[FailedAnswer], classified: Classified
) -> list[tuple[str, Table]]:
    rows = [
        [str(error), *(text for share in both for text in (share.fraction, share.bounds))]
        for error, both in shares.items()
    ]
    counts: dict[tuple[str, str, str], Counter[str]] = {}
    for item in answers:
        primary = str(item.classes.primary) if item.classes else "no class"
        counts.setdefault(item.key[1:4], Counter()).update(["failed", primary])
    columns = ["failed", *map(str, ErrorClass), "no class"]
    by_model = [
        [f"{model} ({', '.join(filter(None, (setting, track)))})", *(str(of_model[name]) for name in columns)]
        for (model, setting, track), of_model in sorted(counts.items())
    ]
    by_answer = []
    for item, classes in sorted(classified, key=lambda pair: pair[0].key):
        others = ", ".join(sorted(classes.all - {classes.primary}))
        sample = f" #{item.key[4]}" if item.key[4] else ""
        by_answer.append([item.key[0], item.key[1] + sample, str(classes.primary), others, item.by, item.quote])
    return [
        (TITLE, (["class", "primary", "95 %", "shown", "95 %"], rows)),
        ("By model (primary class)", (["model", *columns], by_model)),
        ("By answer", (["instance", "model", "primary", "also", "by", "evidence of the model"], by_answer)),
    ]


def _key(row: ResultRow) -> PredictionKey:
    return row["instance_id"], row["model_name_or_path"], row["setting"], row["track"], row["sample"]
