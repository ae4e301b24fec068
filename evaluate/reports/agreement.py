"""How far annotators agree with each other and with the judge: shares, Cohen's and Fleiss' kappa, confusion matrix.

Measured on the three categories and on their collapse to CC against not-CC. Kappas come from scikit-learn and
statsmodels; where one is not defined (everybody always says the same), it is None.
"""

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ...extras import need
from ..judge.category import BEST_FIRST
from ..predictions import PredictionKey
from .annotations import Annotation
from .scores import ModelScore

Labels = dict[PredictionKey, str]
JUDGE, PEOPLE = "judge", "people (majority)"


@dataclass(frozen=True)
class PairAgreement:
    """Two raters on the answers that both labelled."""

    first: str
    second: str
    answers: int
    share: float | None
    kappa: float | None
    binary_share: float | None
    """After the collapse to CC / not-CC."""
    binary_kappa: float | None
    conflicts: int
    """Answers that one calls CC and the other LI."""


@dataclass(frozen=True)
class Agreement:
    """All that is reported on agreement."""

    annotators: list[str]
    pairs: list[PairAgreement]
    fleiss_answers: int = 0
    """Answers that all annotators labelled."""
    fleiss_kappa: float | None = None
    fleiss_binary_kappa: float | None = None
    confusion: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(people's majority, judge) → answers."""
    without_majority: int = 0
    """Answers on which people are split evenly: left out of what is compared with the judge."""
    unknown: list[PredictionKey] = field(default_factory=list)
    """Annotations of answers that no run has."""
    ambiguous: int = 0
    """Annotations that name no setting or track, of a model that answered in several."""


def measure_agreement(annotations: Sequence[Annotation], scores: Sequence[ModelScore]) -> Agreement:
    """Compare annotations with each other, and with the judge's categories in `scores`.

    An annotation belongs to the answer with its instance, model, setting, track and sample; of several runs that have
    such an answer the first counts. One that names no setting or track belongs to the only answer that has the rest, if
    there is one.

    Raises:
        InputError: the extra `report` is not installed.
    """
    need("report", "agreement of people and judge")
    judged: dict[PredictionKey, str | None] = {}
    for score in scores:
        for instance, answers in score.answers.items():
            for answer in answers:
                judged.setdefault((instance, *score.key, answer.sample), answer.judged)
    labels, unknown, ambiguous = match_labels(annotations, judged)
    annotators = sorted(labels)
    judge = {answer: label for answer, label in judged.items() if label in BEST_FIRST}
    people, split = majorities(labels)
    pairs = [_pair(a, labels[a], b, labels[b]) for a, b in itertools.combinations(annotators, 2)]
    if judge:
        pairs += [_pair(name, labels[name], JUDGE, judge) for name in annotators]
        if len(annotators) > 1:
            pairs.append(_pair(PEOPLE, people, JUDGE, judge))
    complete = [answer for answer in people | split if all(answer in labels[name] for name in annotators)]
    fleiss = [[labels[name][answer] for name in annotators] for answer in complete] if len(annotators) > 1 else []
    return Agreement(
        annotators,
        pairs,
        len(fleiss),
        _fleiss(fleiss, BEST_FIRST),
        _fleiss([[str(label == "CC") for label in row] for row in fleiss], ("True", "False")),
        Counter((label, judge[answer]) for answer, label in people.items() if answer in judge),
        len(split),
        unknown,
        ambiguous,
    )


class Matched(NamedTuple):
    """People's labels, brought to the answers that they are about."""

    labels: dict[str, Labels]
    """By annotator."""
    unknown: list[PredictionKey]
    """Annotations of answers that are not there."""
    ambiguous: int
    """Annotations that may mean several answers."""


def match_labels(annotations: Sequence[Annotation], answers: Iterable[PredictionKey]) -> Matched:
    """Which answer each annotation is about (see `measure_agreement`)."""
    candidates: dict[tuple[str, str, int], list[PredictionKey]] = {}
    for key in answers:
        candidates.setdefault((key[0], key[1], key[-1]), []).append(key)
    labels: dict[str, Labels] = {}
    unknown: list[PredictionKey] = []
    ambiguous = 0
    # Those that say most first: where somebody labelled one answer in several ways, that one counts.
    for annotation in sorted(annotations, key=lambda item: (not item.setting) + (not item.track)):
        named = annotation.instance_id, annotation.model, annotation.sample
        found = _meant(annotation, candidates.get(named, []))
        if len(found) == 1:
            labels.setdefault(annotation.annotator, {}).setdefault(found[0], annotation.category)
        else:
            ambiguous += bool(found)
            unknown += [] if found else [annotation.answer]
    return Matched(labels, unknown, ambiguous)


def _meant(annotation: Annotation, candidates: Sequence[PredictionKey]) -> list[PredictionKey]:
    """Which of the answers with its instance, model and sample an annotation can mean."""
    _, _, setting, track, _ = annotation.answer
    of_track = [answer for answer in candidates if track in ("", answer[3])]
    # A setting without a name is one, too.
    exact = [answer for answer in of_track if answer[2] == setting]
    return exact or ([] if setting else of_track)


def majorities(labels: Mapping[str, Labels]) -> tuple[Labels, Labels]:
    """The label that most annotators gave to each answer; apart from them, the answers without one."""
    votes: dict[PredictionKey, Counter[str]] = {}
    for given in labels.values():
        for answer, label in given.items():
            votes.setdefault(answer, Counter())[label] += 1
    majority: Labels = {}
    split: Labels = {}
    for answer, counts in sorted(votes.items()):
        (label, most), *others = counts.most_common()
        (split if others and others[0][1] == most else majority)[answer] = label
    return majority, split


def _pair(first: str, one: Labels, second: str, other: Labels) -> PairAgreement:
    both = sorted(one.keys() & other.keys())
    a, b = [one[answer] for answer in both], [other[answer] for answer in both]
    binary_a, binary_b = ([label == "CC" for label in labels] for labels in (a, b))
    return PairAgreement(
        first,
        second,
        len(both),
        _same(a, b),
        _cohen(a, b),
        _same(binary_a, binary_b),
        _cohen(binary_a, binary_b),
        sum({x, y} == {"CC", "LI"} for x, y in zip(a, b, strict=True)),
    )


def _same(a: Sequence[object], b: Sequence[object]) -> float | None:
    return sum(x == y for x, y in zip(a, b, strict=True)) / len(a) if a else None


def _cohen(a: Sequence[object], b: Sequence[object]) -> float | None:
    if len({*a, *b}) < 2:
        return None  # chance alone would agree always
    from sklearn.metrics import cohen_kappa_score

    return _number(cohen_kappa_score(a, b))


def _fleiss(rows: Sequence[Sequence[str]], categories: Sequence[str]) -> float | None:
    """Fleiss' kappa of a table whose rows are answers and whose columns are annotators."""
    if len({label for row in rows for label in row}) < 2:
        return None
    import numpy as np
    from statsmodels.stats.inter_rater import fleiss_kappa

    return _number(fleiss_kappa(np.array([[row.count(category) for category in categories] for row in rows])))


def _number(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
