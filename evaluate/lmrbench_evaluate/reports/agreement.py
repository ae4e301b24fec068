"""Measure how annotators agree with each other and with the judge.

Agreement is measured on the three categories and on their collapse to CC against not-CC, as shares
and as Cohen's kappa. A kappa that is not defined (both raters always give one and the same label)
is None.
"""

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from lmrbench_data.base.proportions import Share, kappa

from ..judge.opinion import BEST_FIRST
from ..predictions.prediction import AnswerKey
from .annotations import Annotation
from .scores import Scores, answers_by_key
from .tally import ScoredAnswer

Labels = dict[AnswerKey, str]
JUDGE = "judge"
PEOPLE = "people (majority)"
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
        return kappa([first for _, first, _ in self.labels], [last for _, _, last in self.labels])

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
    """Number of answers on which people are split evenly: not compared with the judge."""
    unknown: list[tuple[Any, ...]] = field(default_factory=list)
    """Instance, model, setting, track and sample of annotations for answers that no run has."""
    ambiguous: int = 0
    """Number of annotations without setting or track, for a model that answered in several."""

    def as_dict(self) -> dict[str, Any]:
        """All numbers, for JSON."""
        pairs = [pair.as_dict() for pair in self.pairs]
        return {**vars(self), "pairs": pairs, "confusion": confusion_records(self.confusion)}


def confusion_records(confusion: Mapping[tuple[str, str], int]) -> list[dict[str, Any]]:
    """Return the counts of (people's category, the judge's), for JSON."""
    counts = sorted(confusion.items())
    return [{"people": people, "judge": judge, "answers": n} for (people, judge), n in counts]


def measure_agreement(annotations: Sequence[Annotation], scores: Scores) -> Agreement:
    """Compare annotations with each other, and with the judge's categories in `scores`.

    An annotation belongs to the answer with its instance, model, setting, track and sample, in the
    first run that has one. An annotation without setting or track belongs to the only answer that
    matches the rest, if there is one.
    """
    answers = answers_by_key(scores)
    matched = match_labels(annotations, answers)
    people, split = majorities(matched.labels)
    judge = _judged(answers)
    raters = _by_annotator(matched.labels)
    majority = _pair(PEOPLE, people, JUDGE, judge)
    unknown: list[tuple[Any, ...]] = [key[:5] for key in matched.unknown]
    return Agreement(
        annotators=sorted(raters),
        pairs=_pairs(raters, judge, majority),
        confusion=_confusion(majority),
        without_majority=len(split),
        unknown=unknown,
        ambiguous=matched.ambiguous,
    )


def _judged(answers: Mapping[AnswerKey, ScoredAnswer]) -> Labels:
    return {key: answer.judged for key, answer in answers.items() if answer.judged in BEST_FIRST}


def _confusion(pair: PairAgreement) -> Counter[tuple[str, str]]:
    return Counter((first, second) for _, first, second in pair.labels)


def _by_annotator(labels: Mapping[AnswerKey, Mapping[str, Annotation]]) -> dict[str, Labels]:
    raters: dict[str, Labels] = {}
    for key, by_annotator in labels.items():
        for name, annotation in by_annotator.items():
            raters.setdefault(name, {})[key] = annotation.category
    return raters


def _pairs(
    raters: Mapping[str, Labels], judge: Labels, majority: PairAgreement
) -> list[PairAgreement]:
    """Return the pairs of annotators, then each annotator with the judge, then the majority."""
    names = sorted(raters)
    pairs = [_pair(a, raters[a], b, raters[b]) for a, b in itertools.combinations(names, 2)]
    if judge:
        pairs += [_pair(name, raters[name], JUDGE, judge) for name in names]
    if judge and len(names) > 1:
        pairs.append(majority)
    return pairs


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
    candidates = _by_place(answers)
    labels: dict[AnswerKey, dict[str, Annotation]] = {}
    unknown: list[AnswerKey] = []
    ambiguous = 0
    # The most specific counts where an annotator labelled one answer several times.
    for annotation in sorted(annotations, key=lambda item: (not item.setting) + (not item.track)):
        match _meant(annotation, candidates.get(_without_place(annotation.answer), [])):
            case []:
                unknown.append(annotation.answer)
            case [answer]:
                by_annotator = labels.setdefault(answer, {})
                by_annotator.setdefault(annotation.annotator, annotation)
            case _:
                ambiguous += 1
    return Matched(labels, unknown, ambiguous)


def _by_place(answers: Iterable[AnswerKey]) -> dict[AnswerKey, list[AnswerKey]]:
    candidates: dict[AnswerKey, list[AnswerKey]] = {}
    for key in answers:
        candidates.setdefault(_without_place(key), []).append(key)
    return candidates


def _without_place(key: AnswerKey) -> AnswerKey:
    return key._replace(setting="", track="")


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
    for answer, by_annotator in sorted(labels.items()):
        counts = Counter(item.category for item in by_annotator.values())
        (label, most), *_ = counts.most_common()
        has_majority = list(counts.values()).count(most) == 1
        (majority if has_majority else split)[answer] = label
    return majority, split


def _pair(
    first: str, one: Mapping[AnswerKey, str], second: str, other: Mapping[AnswerKey, str]
) -> PairAgreement:
    both = sorted(one.keys() & other.keys())
    labels = [(answer.instance_id, one[answer], other[answer]) for answer in both]
    return PairAgreement(first, second, labels)
