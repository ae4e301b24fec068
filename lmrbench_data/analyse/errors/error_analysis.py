"""Classify the failed answers of a run: by people's labels where there are some, else by the model's.

Shares are of the failed answers that have a class; the number without one is stated beside them, with reasons. Two
shares are given for each class: of answers whose primary class it is (they sum to 1), and of answers that show it at
all.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from lmrbench_evaluate.judge.question_log import Judge, answer_id
from lmrbench_evaluate.predictions.prediction import PredictionKey
from lmrbench_evaluate.reports.agreement import match_labels
from lmrbench_evaluate.reports.annotations import Annotation
from lmrbench_evaluate.runs.folder import RunFolder

from ...base.shares import Share
from ...base.text import counted
from ...base.text_table import Table
from ...dataset.rows import ResultRow
from ..bootstrap import Kappa, cohen
from ..result import Analysis
from .ask import Diagnosed, has_failed, read_diagnoses
from .diagnosis import Classes, ErrorClass, read_classes

PEOPLE, MODEL = "people", "model"
#: Why a failed answer has no class.
NOT_ASKED_YET, SPLIT = "no diagnosis yet", "people are split evenly"
#: Characters of a quote in the table of answers.
MAX_QUOTE = 60


class Labelled(NamedTuple):
    """A failed answer and why it fails."""

    key: PredictionKey
    """Instance, model, setting, track, sample."""
    classes: Classes | None
    """People's classes, else the model's."""
    by: str
    """`people` or `model`; empty without a class."""
    reason: str
    """The reason for a missing class."""
    model: Diagnosed | None
    people: Classes | None

    @property
    def quote(self) -> str:
        """The model's quote for the class that counts, if it gave one."""
        diagnosis = self.model.diagnosis if self.model else None
        for item in diagnosis.errors if diagnosis else ():
            if self.classes and item.error is self.classes.primary:
                text = item.quote if len(item.quote) <= MAX_QUOTE else f"{item.quote[: MAX_QUOTE - 1]}…"
                return text if item.found else f"? {text}"
        return ""

    def as_dict(self) -> dict[str, Any]:
        """The answer, its classes and the model's evidence."""
        names = "instance_id", "model_name_or_path", "setting", "track", "sample"
        diagnosis = self.model.diagnosis if self.model else None
        return {
            **dict(zip(names, self.key, strict=True)),
            "primary": str(self.classes.primary) if self.classes else None,
            "classes": sorted(self.classes.all) if self.classes else [],
            "by": self.by,
            "reason": self.reason,
            "errors": diagnosis.row()["errors"] if diagnosis else [],
        }


@dataclass(frozen=True)
class ErrorAnalysis(Analysis):
    """The error classes of the failed answers of a run."""

    run: Path
    asked: Judge | None
    """The model whose diagnoses count."""
    answers: Sequence[Labelled]
    unknown: int = 0
    """People's labels of answers that are not there or did not fail."""
    ambiguous: int = 0
    """People's labels that may mean several answers."""
    total: int = 0
    """Number of all answers, failed or not."""
    title: str = field(default="Why answers fail", init=False)

    @property
    def classified(self) -> list[Labelled]:
        """The answers with a class."""
        return [item for item in self.answers if item.classes]

    @property
    def left_out(self) -> Counter[str]:
        """Failed answers without a class, by reason."""
        return Counter(item.reason for item in self.answers if not item.classes)

    def primary(self, error: ErrorClass) -> Share:
        """Answers whose primary class it is."""
        return _share(self.classified, lambda item: item.classes is not None and item.classes.primary is error)

    def shown(self, error: ErrorClass) -> Share:
        """Answers that show it, primary or not."""
        return _share(self.classified, lambda item: item.classes is not None and error in item.classes.all)

    @property
    def quotes(self) -> tuple[int, int]:
        """The number of quotes found in the model's material, and of all quotes."""
        diagnoses = [item.model.diagnosis for item in self.answers if item.model and item.model.diagnosis]
        marks = [evidence.found for diagnosis in diagnoses for evidence in diagnosis.errors]
        return sum(marks), len(marks)

    @property
    def compared(self) -> list[tuple[Labelled, Classes, Classes]]:
        """The answers that both people and the model gave a class; people's first."""
        return [
            (item, item.people, item.model.diagnosis.classes)
            for item in self.answers
            if item.people and item.model and item.model.diagnosis
        ]

    @property
    def agreement(self) -> Share:
        """The share of answers on whose primary class people and model agree."""
        same = {item.key for item, people, model in self.compared if people.primary is model.primary}
        return _share([item for item, _, _ in self.compared], lambda item: item.key in same)

    @property
    def kappa(self) -> Kappa:
        """Cohen's kappa of people and model on the primary class."""
        sides = [(str(people.primary), str(model.primary)) for _, people, model in self.compared]
        return cohen([a for a, _ in sides], [b for _, b in sides], [item.key[0] for item, _, _ in self.compared])

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
        if self.compared:
            value, interval = self.kappa
            bounds = f"{interval[0]:.2f} - {interval[1]:.2f}" if interval else "-"
            rows = [
                ["same primary class", *_cells(self.agreement)],
                ["Cohen's kappa, primary class", "-" if value is None else f"{value:.2f}", bounds],
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
        for item in sorted(self.classified, key=lambda item: item.key):
            assert item.classes
            others = ", ".join(sorted(item.classes.all - {item.classes.primary}))
            sample = f" #{item.key[4]}" if item.key[4] else ""
            rows.append([item.key[0], item.key[1] + sample, item.classes.primary, others, item.by, item.quote])
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
            quoted, quotes = self.quotes
            lines.append(
                f"Asked: {self.asked.model} (prompt {self.asked.prompt_version}). {quoted} of "
                f"{counted(quotes, 'quote')} found in what it was shown; the others are marked with a question mark."
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
        value, interval = self.kappa
        agreement = {
            "answers": len(self.compared),
            "same_primary": self.agreement.as_dict(),
            "kappa": {"value": value, "ci95": interval},
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
            "quotes": dict(zip(("found", "all"), self.quotes, strict=True)),
            "agreement": agreement if self.compared else None,
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
    failed = {_key(row): row for row in results if has_failed(row)}
    matched = match_labels(annotations, failed)
    people: dict[PredictionKey, list[Classes]] = {}
    for labels in matched.labels.values():
        for key, label in labels.items():
            if classes := read_classes(label):
                people.setdefault(key, []).append(classes)
    answers = [_labelled(key, people.get(key, []), diagnosed.get(answer_id(row))) for key, row in failed.items()]
    return ErrorAnalysis(run, asked, answers, len(matched.unknown), matched.ambiguous, len(results))


def _share(answers: Sequence[Labelled], shows: Callable[[Labelled], bool]) -> Share:
    """The share of answers that show something; samples of one model for one instance are not independent."""
    return Share.clustered((item.key[:4], shows(item)) for item in answers)


def _labelled(key: PredictionKey, people: Sequence[Classes], model: Diagnosed | None) -> Labelled:
    if majority := _majority(people):
        return Labelled(key, majority, PEOPLE, "", model, majority)
    if model and model.diagnosis:
        return Labelled(key, model.diagnosis.classes, MODEL, "", model, None)
    reason = model.reason if model and model.reason else SPLIT if people else NOT_ASKED_YET
    return Labelled(key, None, "", reason, model, None)


def _majority(labels: Sequence[Classes]) -> Classes | None:
    """The majority of labels: the most frequent primary class, and each class that more than half of the people name.

    None without labels, or if two primary classes are equally frequent.
    """
    ranked = Counter(item.primary for item in labels).most_common()
    if not ranked or (len(ranked) > 1 and ranked[0][1] == ranked[1][1]):
        return None
    primary = ranked[0][0]
    named = Counter(error for item in labels for error in item.all)
    return Classes(primary, frozenset({primary, *(error for error in named if 2 * named[error] > len(labels))}))


def _key(row: Mapping[str, Any] | ResultRow) -> PredictionKey:
    return row["instance_id"], row["model_name_or_path"], row["setting"], row["track"], row["sample"]


def _cells(share: Share) -> list[str]:
    return [share.fraction, share.bounds]
