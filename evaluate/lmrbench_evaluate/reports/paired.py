"""Compare models in pairs on the same instances, by an exact test adjusted for their number."""

import dataclasses
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lmrbench_data.base.proportions import Interval

from ..verdict.levels import Level
from ..verdict.verdict import Status
from .scores import ModelScore, Scores
from .stats import holm, least_differing, paired_interval, permutation

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
    """95% interval of the difference (`paired_interval`); instances are its independent units."""
    p: float
    """Two-sided p of the exact paired permutation test (one sample each: McNemar's exact test)."""
    unit: float
    """Smallest possible difference on one instance: one sample of it."""
    p_holm: float = 1.0
    """p adjusted for all comparisons of the report at this level (Holm)."""
    noise_floor: float | None = None
    """Smallest difference that could have been significant; None if no difference could."""

    @property
    def instances(self) -> int:
        """The number of compared ones."""
        return self.first_better + self.second_better + self.equal

    @property
    def distinguishable(self) -> bool:
        """Whether the adjusted test and the interval both exclude equality."""
        low, high = self.interval
        return self.p_holm < ALPHA and not low <= 0 <= high


def compare_pairs(scores: Scores, names: Sequence[str]) -> list[Pair]:
    """Compare all pairs of models of one track that share enough instances, at each level.

    Models of two tracks saw different texts; an unstated track is another one.
    """
    adjusted: list[Pair] = []
    named = list(zip(scores, names, strict=True))
    for level in Level:
        pairs = []
        for (one, first), (other, second) in itertools.combinations(named, 2):
            if one.track == other.track:
                pairs.append(compare(one, other, first, second, level))
        adjusted += _adjust([pair for pair in pairs if pair.instances >= MIN_SHARED])
    return adjusted


def _adjust(pairs: Sequence[Pair]) -> Iterator[Pair]:
    """Yield the pairs with adjusted p values and their noise floors."""
    if not pairs:
        return
    p_values = holm([pair.p for pair in pairs])
    differing = least_differing(len(pairs), ALPHA)
    for pair, p in zip(pairs, p_values, strict=True):
        floor = None
        if differing <= pair.instances:
            floor = differing * pair.unit / pair.instances
        yield dataclasses.replace(pair, p_holm=p, noise_floor=floor)


def compare(one: ModelScore, other: ModelScore, first: str, second: str, level: Level) -> Pair:
    """Compare two models at one level; without a shared instance, p is 1."""
    # Differences of shares, as multiples of the common denominator.
    whole = math.lcm(one.samples, other.samples)
    differences = _differences(one, other, level, whole)
    better = sum(difference > 0 for difference in differences)
    worse = sum(difference < 0 for difference in differences)
    p = permutation(differences)
    shares = [difference / whole for difference in differences]
    return Pair(
        level=level,
        first=first,
        second=second,
        first_better=better,
        second_better=worse,
        equal=len(differences) - better - worse,
        difference=sum(differences) / (whole * len(differences)) if differences else 0.0,
        interval=paired_interval(shares, p),
        p=p,
        unit=1 / whole,
    )


def _differences(one: ModelScore, other: ModelScore, level: Level, whole: int) -> list[int]:
    """Return the differences on the instances that both share and that were graded for both."""
    differences = []
    for instance in one.scope.keys() & other.scope.keys():
        tallies = [one.instances[instance], other.instances[instance]]
        if not any(tally.outcomes[Status.INFRA_ERROR] for tally in tallies):
            first, second = (tally.reached(level) * whole // tally.total for tally in tallies)
            differences.append(first - second)
    return differences
