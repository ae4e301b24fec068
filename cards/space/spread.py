"""The spread of a rank: the places that paired tests on the same instances cannot tell apart.

As in the harness's reports, the test is the exact permutation test (McNemar's with one sample each), and p is adjusted
for all pairs of the ranking (Holm).
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from functools import lru_cache

from base.ranking import REPRODUCED, ranking_level
from base.stats import holm, permutation
from scored_models import ScoredModel, Task

#: Two models differ if their adjusted p is below it.
LEVEL = 0.05
#: Models beyond this place get no spread: the number of pairs grows with its square.
MAX_COMPARED = 60
#: Limit of instances² x denominator, which bounds the time of a test; shares are rounded to fit.
_MAX_WORK = 400_000


def rank_spreads(models: Sequence[ScoredModel], tasks: Mapping[str, Task]) -> list[tuple[int, int]]:
    """Return the best and worst place of each model that the tests leave open; models are in the order of ranking.

    The best place is one more than the number of models that are significantly better; the worst leaves room below for
    those that are significantly worse. Models after the first `MAX_COMPARED` are left out.
    """
    compared = models[:MAX_COMPARED]
    pairs = list(itertools.combinations(range(len(compared)), 2))
    found = [_differences(compared[one], compared[other], tasks) for one, other in pairs]
    adjusted = holm([_p(tuple(sorted(differences))) for differences in found])
    better, worse = [0] * len(compared), [0] * len(compared)
    for (one, other), differences, p in zip(pairs, found, adjusted, strict=True):
        if p < LEVEL:
            winner, loser = (one, other) if sum(differences) > 0 else (other, one)
            better[loser] += 1
            worse[winner] += 1
    return [(1 + above, len(models) - below) for above, below in zip(better, worse, strict=True)]


def _differences(one: ScoredModel, other: ScoredModel, tasks: Mapping[str, Task]) -> list[int]:
    """Return the differences of shares by instance, as multiples of a common denominator."""
    whole = min(math.lcm(one.entry.samples, other.entry.samples), max(1, _MAX_WORK // max(1, len(tasks)) ** 2))
    differences = []
    for name in tasks:
        tallies = [model.entry.instances.get(name) for model in (one, other)]
        if not any(tally and tally.statuses["infra_error"] for tally in tallies):
            mine, theirs = (_reached(model, name) * whole / model.entry.samples for model in (one, other))
            differences.append(round(mine - theirs))
    return differences


def _reached(model: ScoredModel, name: str) -> int:
    instance = model.entry.instances.get(name)
    if instance is None:
        return 0
    return (instance.core if ranking_level(model.entry.track) == REPRODUCED else instance.statuses)["passed"]


#: One board is rendered many times.
_p = lru_cache(maxsize=20_000)(permutation)
