"""Measure how annotators agree with each other and with the judge: shares, Cohen's kappa, confusion matrix.

Agreement is measured on the three categories and on their collapse to CC against not-CC. A kappa that is not defined
(both raters always give one and the same label) is None.
"""

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from lmrbench_data.base.proportions import Share, cross_table, kappa

from ..judge.opinion import BEST_FIRST
from ..predictions.prediction import AnswerKey
from .annotations import Annotation
from .scores import ModelScore, answers_by_key

Labels = dict[AnswerKey, str]
JUDGE, PEOPLE = "judge", "people (majority)"
#: Labels of a right answer, by people and judge or by tests.
RIGHT = "CC", "passed"


@dataclass(frozen=True)
class PairAgreement:
    """Two raters on the answers that both labelled."""

    first: str
    second: str
    labels: Sequence[tuple[str, str, str]]
    """For each answer its instance, the label of the first and that of the second."""

    @property
    def agreement(self) -> Share:
        """The answers with equal labels; answers to one instance are one unit."""
        return Share.clustered((instance, a == b) for instance, a, b in self.labels)

    @property
    def conflicts(self) -> Share:
        """The answers that one calls CC and the other LI."""
        return Share.clustered((instance, {a, b} == {"CC", "LI"}) for instance, a, b in self.labels)

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa."""
        return kappa(cross_table([a for _, a, _ in self.labels], [b for _, _, b in self.labels]))

    @property
    def binary(self) -> "PairAgreement":
        """The same pair after the collapse to right (CC, or passed tests) and wrong."""
        labels = [(instance, str(a in RIGHT), str(b in RIGHT)) for instance, a, b in self.labels]
        return PairAgreement(self.first, self.second, labels)

    def as_dict(self) -> dict[str, Any]:
        """All numbers, for JSON."""
        return {
            "first": self.first,
            "second": self.second,
            "answers": len(self.labels),
            "share": self.agreement.value,
            "kappa": self.kappa,
            "binary_share": self.binary.agreement.value,
            "binary_kappa": self.binary.kappa,
            "conflicts": self.conflicts.part,
        }


@dataclass(frozen=True)
class Agreement:
    """The agreement of people and judge, as reported."""

    annotators: list[str]
    pairs: list[PairAgreement]
    confusion: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(people's majority, judge) → answers."""
    without_majority: int = 0
    """Number of answers on which people are split evenly: left out of the comparison with the judge."""
    unknown: list[tuple[Any, ...]] = field(default_factory=list)
    """Instance, model, setting, track and sample of annotations for answers that no run has."""
    ambiguous: int = 0
    """Number of annotations without setting or track, for a model that answered in several."""


def measure_agreement(annotations: Sequence[Annotation], scores: Sequence[ModelScore]) -> Agreement:
    """Compare annotations with each other, and with the judge's categories in `scores`.

    An annotation belongs to the answer with its instance, model, setting, track and sample, in the first run that has
    one. An annotation without setting or track belongs to the only answer that matches the rest, if there is one.
    """
    judged = {key: answer.judged for key, answer in answers_by_key(scores).items()}
    matched, unknown, ambiguous = match_labels(annotations, judged)
    people, split = majorities(matched)
    annotators = sorted({name for given in matched.values() for name in given})
    labels = {
        name: {key: given[name].category for key, given in matched.items() if name in given}
        for name in annotators
    }
    judge = {answer: label for answer, label in judged.items() if label in BEST_FIRST}
    pairs = [_pair(a, labels[a], b, labels[b]) for a, b in itertools.combinations(annotators, 2)]
    if judge:
        pairs += [_pair(name, labels[name], JUDGE, judge) for name in annotators]
        if len(annotators) > 1:
            pairs.append(_pair(PEOPLE, people, JUDGE, judge))
    return Agreement(
        annotators,
        pairs,
        Counter((label, judge[answer]) for answer, label in people.items() if answer in judge),
        len(split),
        [key[:5] for key in unknown],
        ambiguous,
    )


class Matched(NamedTuple):
    """People's labels, matched with answers."""

    labels: dict[AnswerKey, dict[str, Annotation]]
    """Answer → annotator → label."""
    unknown: list[AnswerKey]
    """Annotations for answers that do not exist."""
    ambiguous: int
    """Number of annotations that match several answers."""


def match_labels(annotations: Sequence[Annotation], answers: Iterable[AnswerKey]) -> Matched:
    """Match annotations with answers (see `measure_agreement`)."""
    candidates: dict[AnswerKey, list[AnswerKey]] = {}
    for key in answers:
        candidates.setdefault(key._replace(setting="", track=""), []).append(key)
    labels: dict[AnswerKey, dict[str, Annotation]] = {}
    unknown: list[AnswerKey] = []
    ambiguous = 0
    # The most specific counts where an annotator labelled one answer several times.
    for annotation in sorted(annotations, key=lambda item: (not item.setting) + (not item.track)):
        named = annotation.answer._replace(setting="", track="")
        match _meant(annotation, candidates.get(named, [])):
            case []:
                unknown.append(annotation.answer)
            case [answer]:
                labels.setdefault(answer, {}).setdefault(annotation.annotator, annotation)
            case _:
                ambiguous += 1
    return Matched(labels, unknown, ambiguous)


def _meant(annotation: Annotation, candidates: Sequence[AnswerKey]) -> list[AnswerKey]:
    """Return the answers with its instance, model and sample that an annotation can mean."""
    of_track = [answer for answer in candidates if annotation.track in ("", answer.track)]
    # An empty setting is a setting as well.
    exact = [answer for answer in of_track if answer.setting == annotation.setting]
    return exact or ([] if annotation.setting else of_track)


def majorities(labels: Mapping[AnswerKey, Mapping[str, Annotation]]) -> tuple[Labels, Labels]:
    """Return the majority label of each answer and, separately, the answers without a majority."""
    majority: Labels = {}
    split: Labels = {}
    for answer, given in sorted(labels.items()):
        (label, most), *others = Counter(item.category for item in given.values()).most_common()
        (split if others and others[0][1] == most else majority)[answer] = label
    return majority, split


def _pair(
    first: str, one: Mapping[AnswerKey, str], second: str, other: Mapping[AnswerKey, str]
) -> PairAgreement:
    both = sorted(one.keys() & other.keys())
    return PairAgreement(
        first, second, [(answer[0], one[answer], other[answer]) for answer in both]
    )
