"""Classify the failed answers of a run: by people's labels where there are some, else by the model's.

Shares are of the failed answers that have a class; the number without one is stated beside them, with reasons. Two
shares are given for each class: of answers whose primary class it is (they sum to 1), and of answers that show it at
all.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from lmrbench_evaluate.judge.question_log import Judge, answer_id
from lmrbench_evaluate.predictions.prediction import PredictionKey
from lmrbench_evaluate.reports.agreement import match_labels
from lmrbench_evaluate.reports.annotations import Annotation
from lmrbench_evaluate.runs.folder import RunFolder

from ...base.shares import Share
from ...dataset.rows import ResultRow
from ..bootstrap import Kappa, cohen
from .ask import has_failed
from .classes import Classes, ErrorClass, read_classes
from .diagnosis_log import Diagnosed, read_diagnoses

PEOPLE, MODEL = "people", "model"
#: Why a failed answer has no class.
NOT_ASKED_YET, SPLIT = "no diagnosis yet", "people are split evenly"


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
    def instance(self) -> str:
        """The instance id."""
        return self.key[0]

    @property
    def unit(self) -> tuple[str, ...]:
        """The key that dependent answers share: samples of one model for one instance."""
        return self.key[:4]


@dataclass(frozen=True)
class ErrorAnalysis:
    """The error classes of the failed answers of a run."""

    asked: Judge | None
    """The model whose diagnoses count."""
    answers: Sequence[Labelled]
    unknown: int = 0
    """People's labels of answers that are not there or did not fail."""
    ambiguous: int = 0
    """People's labels that may mean several answers."""
    answered: Mapping[tuple[str, str, str], int] = field(default_factory=dict)
    """Model, setting and track → number of all answers, failed or not."""

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
        said = [item.model.diagnosis for item in self.answers if item.model and item.model.diagnosis]
        found = [evidence.found for diagnosis in said for evidence in diagnosis.evidence]
        return sum(found), len(found)

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

    def kappa(self, error: ErrorClass | None = None) -> Kappa:
        """Cohen's kappa of people and model: on the primary class, or on whether an answer shows `error`."""
        instances = [item.instance for item, _, _ in self.compared]
        sides = [(people, model) for _, people, model in self.compared]
        if error is None:
            return cohen([str(a.primary) for a, _ in sides], [str(b.primary) for _, b in sides], instances)
        return cohen([str(error in a.all) for a, _ in sides], [str(error in b.all) for _, b in sides], instances)


def analyse_errors(
    run: Path,
    annotations: Sequence[Annotation] = (),
    *,
    model: str | None = None,
    instances: Sequence[str] = (),
) -> ErrorAnalysis:
    """Collect the error classes of a run's failed answers; no model is asked.

    Args:
        annotations: people's labels, read with `classes.COLUMN`.
        model: whose diagnoses; by default those of the model that was asked last.
        instances: only these; all by default.

    Raises:
        InputError: no run folder, or a damaged one.
    """
    asked, diagnosed = read_diagnoses(run, model)
    results = [row for row in RunFolder(run).rows() if not instances or row["instance_id"] in instances]
    failed = {_key(row): row for row in results if has_failed(row)}
    matched = match_labels(annotations, failed)
    said: dict[PredictionKey, list[Classes]] = {}
    for labels in matched.labels.values():
        for key, label in labels.items():
            if classes := read_classes(label):
                said.setdefault(key, []).append(classes)
    answers = [_labelled(key, said.get(key, []), diagnosed.get(answer_id(row))) for key, row in failed.items()]
    answered = Counter(_key(row)[1:4] for row in results)
    return ErrorAnalysis(asked, answers, len(matched.unknown), matched.ambiguous, answered)


def _share(answers: Sequence[Labelled], shows: Callable[[Labelled], bool]) -> Share:
    """The share of answers that show something; samples of one unit are not independent."""
    return Share.clustered((item.unit, shows(item)) for item in answers)


def _labelled(key: PredictionKey, said: Sequence[Classes], model: Diagnosed | None) -> Labelled:
    people = _majority(said)
    if people:
        return Labelled(key, people, PEOPLE, "", model, people)
    if model and model.diagnosis:
        return Labelled(key, model.diagnosis.classes, MODEL, "", model, None)
    reason = model.reason if model and model.reason else SPLIT if said else NOT_ASKED_YET
    return Labelled(key, None, "", reason, model, None)


def _majority(said: Sequence[Classes]) -> Classes | None:
    """The majority of labels: the most frequent primary class, and each class that more than half of the people name.

    None without labels, or if two primary classes are equally frequent.
    """
    ranked = Counter(item.primary for item in said).most_common()
    if not ranked or (len(ranked) > 1 and ranked[0][1] == ranked[1][1]):
        return None
    primary = ranked[0][0]
    named = Counter(error for item in said for error in item.all)
    return Classes(primary, frozenset({primary, *(error for error in named if 2 * named[error] > len(said))}))


def _key(row: ResultRow) -> PredictionKey:
    return row["instance_id"], row["model_name_or_path"], row["setting"], row["track"], row["sample"]
