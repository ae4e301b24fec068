"""Classify the failed answers of a run: by people's labels where there are some, else by the model's.

Shares are of the failed answers that have a class; the number without one is stated beside them, with reasons. Two
shares are given for each class: of answers whose primary class it is (they sum to 1), and of answers that show it at
all.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from lmrbench_evaluate.judge.question_log import Judge, answer_id
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


@dataclass(frozen=True)
class ErrorAnalysis(Analysis):
    """The error classes of the failed answers of a run."""

    run: Path
    asked: Judge | None
    """The model whose diagnoses count."""
    answers: Sequence[FailedAnswer]
    unknown: int = 0
    """People's labels of answers that are not there or did not fail."""
    ambiguous: int = 0
    """People's labels that may mean several answers."""
    total: int = 0
    """Number of all answers, failed or not."""
    title: str = field(default="Why answers fail", init=False)

    @property
    def classified(self) -> list[tuple[FailedAnswer, Classes]]:
        """The answers with a class."""
        return [(item, item.classes) for item in self.answers if item.classes]

    @property
    def left_out(self) -> Counter[str]:
        """Failed answers without a class, by reason."""
        return Counter(item.reason for item in self.answers if item.reason)

    def primary(self, error: ErrorClass) -> Share:
        """Answers whose primary class it is."""
        return self._share(lambda classes: classes.primary is error)

    def shown(self, error: ErrorClass) -> Share:
        """Answers that show it, primary or not."""
        return self._share(lambda classes: error in classes.all)

    def _share(self, shows: Callable[[Classes], bool]) -> Share:
        """The share of answers that show something; samples of one model for one instance are not independent."""
        return Share.clustered((item.key[:4], shows(classes)) for item, classes in self.classified)

    @property
    def quotes(self) -> dict[str, int]:
        """The number of quotes found in the model's material, and of all quotes."""
        marks = [error.found for item in self.answers if item.diagnosis for error in item.diagnosis.errors]
        return {"found": sum(marks), "all": len(marks)}

    @property
    def agreement(self) -> PairAgreement:
        """People and the model on the primary class of the answers that both gave one."""
        labels = [
            (item.key[0], str(item.majority.primary), str(item.diagnosis.primary))
            for item in self.answers
            if item.majority and item.diagnosis
        ]
        return PairAgreement(PEOPLE, MODEL, labels)

    def tables(self) -> list[tuple[str, Table]]:
        """Return the titles and tables that are not empty."""
        tables: list[tuple[str, Table]] = []
        if self.classified:
            rows = [[str(error), *_cells(self.primary(error)), *_cells(self.shown(error))] for error in ErrorClass]
            tables = [
                (self.title, (["class", "primary", "95 %", "shown", "95 %"], rows)),
                ("By model (primary class)", self._by_model()),
                ("By answer", self._by_answer()),
            ]
        if (pair := self.agreement).labels:
            interval = kappa_interval(pair)
            bounds = f"{interval[0]:.2f} - {interval[1]:.2f}" if interval else "-"
            rows = [
                ["same primary class", *_cells(pair.agreement)],
                ["Cohen's kappa, primary class", "-" if pair.kappa is None else f"{pair.kappa:.2f}", bounds],
            ]
            tables.append(("Model beside people", (["measure", "value", "95 %"], rows)))
        return tables

    def _by_model(self) -> Table:
        counts: dict[tuple[str, str, str], Counter[str]] = {}
        for item in self.answers:
            of_model = counts.setdefault(item.key[1:4], Counter())
            of_model["failed"] += 1
            of_model[str(item.classes.primary) if item.classes else "no class"] += 1
        columns = ["failed", *map(str, ErrorClass), "no class"]
        rows = [
            [f"{model} ({', '.join(filter(None, (setting, track)))})", *(str(of_model[name]) for name in columns)]
            for (model, setting, track), of_model in sorted(counts.items())
        ]
        return ["model", *columns], rows

    def _by_answer(self) -> Table:
        rows = []
        for item, classes in sorted(self.classified, key=lambda pair: pair[0].key):
            others = ", ".join(sorted(classes.all - {classes.primary}))
            sample = f" #{item.key[4]}" if item.key[4] else ""
            rows.append([item.key[0], item.key[1] + sample, classes.primary, others, item.by, item.quote])
        return ["instance", "model", "primary", "also", "by", "evidence of the model"], rows

    def notes(self) -> list[str]:
        """Explanations that a reader of the tables needs."""
        lines = [
            f"{len(self.answers):,} of {counted(self.total, 'answer')} failed (by core cases in the paper track, by "
            f"all cases elsewhere), {len(self.classified)} of them classified; shares refer to these."
        ]
        if self.left_out:
            reasons = ", ".join(f"{n} ({reason})" for reason, n in sorted(self.left_out.items()))
            lines.append(f"Without a class: {reasons}.")
        if self.classified:
            lines.append(
                "Primary shares sum to 100 %; an answer may show several classes, so the others need not. "
                "Wilson's 95 %."
            )
        if self.asked:
            lines.append(
                f"Asked: {self.asked.model} (prompt {self.asked.prompt_version}). {self.quotes['found']} of "
                f"{counted(self.quotes['all'], 'quote')} found in what it was shown; the others are marked with a "
                "question mark."
            )
        if self.unknown:
            lines.append(
                f"{counted(self.unknown, 'label')} of answers that this run does not have, or that did not fail."
            )
        if self.ambiguous:
            lines.append(
                f"{counted(self.ambiguous, 'label')} left out: no setting or track, and the model answered in several."
            )
        return lines

    def records(self) -> list[dict[str, Any]]:
        """One row for each failed answer."""
        return [item.as_dict() for item in self.answers]

    def to_dict(self) -> dict[str, Any]:
        """All numbers, and each answer with its evidence."""
        pair = self.agreement
        agreement = {
            "answers": len(pair.labels),
            "same_primary": pair.agreement.as_dict(),
            "kappa": {"value": pair.kappa, "ci95": kappa_interval(pair)},
        }
        return {
            "run": str(self.run),
            "model": self.asked.model if self.asked else None,
            "prompt_version": self.asked.prompt_version if self.asked else None,
            "answers": self.total,
            "failed": len(self.answers),
            "classified": len(self.classified),
            "without_class": dict(self.left_out),
            "classes": {
                str(error): {"primary": self.primary(error).as_dict(), "shown": self.shown(error).as_dict()}
                for error in ErrorClass
            },
            "quotes": self.quotes,
            "agreement": agreement if pair.labels else None,
            "by_answer": self.records(),
        }


def analyse_errors(
    run: Path,
    annotations: Sequence[Annotation] = (),
    *,
    model: str | None = None,
    instances: Sequence[str] = (),
) -> ErrorAnalysis:
    """Collect the error classes of a run's failed answers; no model is asked.

    Args:
        annotations: people's labels, read with `diagnosis.COLUMN`.
        model: whose diagnoses; by default those of the model that was asked last.
        instances: only these; all by default.

    Raises:
        InputError: no run folder, or a damaged one.
    """
    asked, diagnosed = read_diagnoses(run, model)
    results = [row for row in RunFolder(run).rows() if not instances or row["instance_id"] in instances]
    failed = {_key(row): answer_id(row) for row in results if has_failed(row)}
    matched = match_labels(annotations, failed)
    answers = []
    for key, answer in failed.items():
        labels = [read_classes(labels[key]) for labels in matched.labels.values() if key in labels]
        diagnosis, not_asked = diagnosed.get(answer, (None, ""))
        answers.append(FailedAnswer(key, [label for label in labels if label], diagnosis, not_asked))
    return ErrorAnalysis(run, asked, answers, len(matched.unknown), matched.ambiguous, len(results))


def _key(row: ResultRow) -> PredictionKey:
    return row["instance_id"], row["model_name_or_path"], row["setting"], row["track"], row["sample"]


def _cells(share: Share) -> list[str]:
    return [share.fraction, share.bounds]
