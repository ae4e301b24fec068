"""Compare models two by two on the same instances: McNemar's exact test, adjusted for the number of comparisons."""

import dataclasses
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from ..verdict import Status
from .levels import MISSING, Level, reaches
from .scores import ModelScore
from .stats import holm, mcnemar


@dataclass(frozen=True)
class Pair:
    """Two models at one level, on the instances that are in both scopes and that could be graded for both.

    Of several samples the first one counts, and an instance without prediction reaches no level.
    """

    level: Level
    first: str
    second: str
    both: int
    only_first: int
    only_second: int
    neither: int
    p: float
    """Two-sided, of McNemar's exact test."""
    p_holm: float = 1.0
    """The same, adjusted for all comparisons of the report at this level (Holm)."""

    @property
    def instances(self) -> int:
        """How many instances were compared."""
        return self.both + self.only_first + self.only_second + self.neither


def compare_pairs(scores: Sequence[ModelScore], names: Sequence[str]) -> list[Pair]:
    """All pairs of models that share an instance, at each level.

    Args:
        names: what each of `scores` is called.
    """
    return [pair for level in Level for pair in _at_level(scores, names, level)]


def _at_level(scores: Sequence[ModelScore], names: Sequence[str], level: Level) -> list[Pair]:
    pairs = [
        pair
        for (one, first), (other, second) in itertools.combinations(zip(scores, names, strict=True), 2)
        if (pair := _compare(one, other, first, second, level)).instances
    ]
    adjusted = holm([pair.p for pair in pairs])
    return [dataclasses.replace(pair, p_holm=p) for pair, p in zip(pairs, adjusted, strict=True)]


def _compare(one: ModelScore, other: ModelScore, first: str, second: str, level: Level) -> Pair:
    counts = {(True, True): 0, (True, False): 0, (False, True): 0, (False, False): 0}
    for instance in one.scope.keys() & other.scope.keys():
        outcomes = [_first_outcome(score, instance) for score in (one, other)]
        if Status.INFRA_ERROR not in outcomes:
            reached = [reaches(name, level) for name in outcomes]
            counts[reached[0], reached[1]] += 1
    only = counts[True, False], counts[False, True]
    return Pair(level, first, second, counts[True, True], *only, counts[False, False], mcnemar(*only))


def _first_outcome(score: ModelScore, instance: str) -> str:
    answers = score.answers.get(instance)
    return answers[0].outcome if answers else MISSING
