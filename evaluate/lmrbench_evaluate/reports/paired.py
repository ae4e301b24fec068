"""Compare models in pairs on the same instances: an exact paired test, adjusted for the number of comparisons."""

import dataclasses
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from lmrbench_data.base.proportions import Interval

from ..verdict.levels import Level
from ..verdict.verdict import Status
from .scores import ModelScore
from .stats import holm, paired_interval, permutation

#: Fewer shared instances say nothing about a difference.
MIN_SHARED = 5
#: Two models whose p is at least this large are not distinguishable.
ALPHA = 0.05


@dataclass(frozen=True)
class Pair:
    """Two models at one level, on the instances in both scopes that were graded for both.

    An instance without prediction reaches no level.
    """

    level: Level
    first: str
    second: str
    first_better: int
    """Number of instances where the first has the larger share of samples at the level."""
    second_better: int
    equal: int
    difference: float
    """Mean share of the first minus that of the second."""
    interval: Interval
    """95% interval of the difference; an instance is one unit, however many samples it has (`paired_interval`)."""
    p: float
    """Two-sided p of the exact paired permutation test; with one sample each, of McNemar's exact test."""
    p_holm: float = 1.0
    """p adjusted for all comparisons of the report at this level (Holm)."""

    @property
    def instances(self) -> int:
        """The number of compared ones."""
        return self.first_better + self.second_better + self.equal

    @property
    def distinguishable(self) -> bool:
        """Whether the test, adjusted for the number of comparisons, and the interval both exclude equality."""
        low, high = self.interval
        return self.p_holm < ALPHA and not low <= 0 <= high

    @property
    def reverse(self) -> "Pair":
        """The same comparison, seen from the second model."""
        low, high = self.interval
        return dataclasses.replace(
            self,
            first=self.second,
            second=self.first,
            first_better=self.second_better,
            second_better=self.first_better,
            difference=-self.difference,
            interval=(-high, -low),
        )


def compare_pairs(scores: Sequence[ModelScore], names: Sequence[str]) -> list[Pair]:
    """Compare all pairs of models of one track that share enough instances (`MIN_SHARED`), at each level.

    Models of two tracks saw different texts; an unstated track is one of its own.
    """
    adjusted: list[Pair] = []
    for level in Level:
        pairs = [
            pair
            for (one, first), (other, second) in itertools.combinations(
                zip(scores, names, strict=True), 2
            )
            if one.track == other.track
            and (pair := compare(one, other, first, second, level)).instances >= MIN_SHARED
        ]
        p_values = holm([pair.p for pair in pairs])
        adjusted += (
            dataclasses.replace(pair, p_holm=p) for pair, p in zip(pairs, p_values, strict=True)
        )
    return adjusted


def compare(one: ModelScore, other: ModelScore, first: str, second: str, level: Level) -> Pair:
    """Compare two models at one level; without an instance that both share, nothing is compared and p is 1."""
    # Differences of shares, as multiples of the common denominator.
    whole = math.lcm(one.samples, other.samples)
    differences = []
    for instance in one.scope.keys() & other.scope.keys():
        tallies = one.instances[instance], other.instances[instance]
        if not any(tally.outcomes[Status.INFRA_ERROR] for tally in tallies):
            mine, theirs = (tally.reached(level) * whole // tally.total for tally in tallies)
            differences.append(mine - theirs)
    better, worse = sum(d > 0 for d in differences), sum(d < 0 for d in differences)
    p = permutation(differences)
    return Pair(
        level=level,
        first=first,
        second=second,
        first_better=better,
        second_better=worse,
        equal=len(differences) - better - worse,
        difference=sum(differences) / (whole * len(differences)) if differences else 0.0,
        interval=paired_interval([difference / whole for difference in differences], p),
        p=p,
    )
