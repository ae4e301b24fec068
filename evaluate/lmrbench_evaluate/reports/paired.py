"""Compare models in pairs on the same instances: an exact paired test, adjusted for the number of comparisons."""

import dataclasses
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from ..verdict.levels import Level
from ..verdict.verdict import Status
from .scores import ModelScore
from .stats import holm, mcnemar, permutation

MCNEMAR, PERMUTATION = "McNemar", "permutation"


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
    p: float
    """Two-sided exact p."""
    test: str
    """`McNemar` with one sample each; its generalisation `permutation` with several."""
    p_holm: float = 1.0
    """p adjusted for all comparisons of the report at this level (Holm)."""

    @property
    def instances(self) -> int:
        """Number of compared instances."""
        return self.first_better + self.second_better + self.equal


def compare_pairs(scores: Sequence[ModelScore], names: Sequence[str]) -> list[Pair]:
    """Compare all pairs of models that share an instance, at each level.

    Args:
        names: the name of each of `scores`.
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
    # Differences of shares, as multiples of the common denominator.
    whole = math.lcm(one.samples, other.samples)
    differences = []
    for instance in one.scope.keys() & other.scope.keys():
        tallies = one.instances[instance], other.instances[instance]
        if not any(tally.outcomes[Status.INFRA_ERROR] for tally in tallies):
            mine, theirs = (tally.reached(level) * whole // tally.total for tally in tallies)
            differences.append(mine - theirs)
    better, worse = sum(d > 0 for d in differences), sum(d < 0 for d in differences)
    return Pair(
        level,
        first,
        second,
        better,
        worse,
        len(differences) - better - worse,
        sum(differences) / (whole * len(differences)) if differences else 0.0,
        mcnemar(better, worse) if whole == 1 else permutation(differences),
        MCNEMAR if whole == 1 else PERMUTATION,
    )
