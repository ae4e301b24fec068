"""The spread of a rank: the places that paired tests on the same instances cannot tell apart.

As in the harness's reports, the test is the exact permutation test (McNemar's with one sample each), and p is adjusted
for all pairs of the ranking (Holm).
"""

import itertools
import math
from collections.abc import Sequence
from functools import lru_cache

from base.record import Entry
from base.stats import holm, permutation

#: Two models differ if their adjusted p is below it.
LEVEL = 0.05
#: Models beyond this place get no spread: the number of pairs grows with its square.
MAX_COMPARED = 60
#: Limit of instances² x denominator, which bounds the time of a test; shares are rounded to fit.
_MAX_WORK = 400_000


def rank_spreads(entries: Sequence[Entry], tasks: Sequence[str]) -> list[tuple[int, int]]:
    """Return the best and worst place of each model that the tests leave open; models are in the order of ranking.

    The best place is one more than the number of models that are significantly better; the worst leaves room below for
    those that are significantly worse. Models after the first `MAX_COMPARED` are left out.
    """
    compared = entries[:MAX_COMPARED]
    pairs = list(itertools.combinations(range(len(compared)), 2))
    differences = [_differences(compared[one], compared[other], tasks) for one, other in pairs]
    adjusted = holm([_p(tuple(sorted(values))) for values in differences])
    better, worse = [0] * len(compared), [0] * len(compared)
    for (one, other), values, p in zip(pairs, differences, adjusted, strict=True):
        if p < LEVEL:
            winner, loser = (one, other) if sum(values) > 0 else (other, one)
            better[loser] += 1
            worse[winner] += 1
    return [(1 + above, len(entries) - below) for above, below in zip(better, worse, strict=True)]


def _differences(one: Entry, other: Entry, tasks: Sequence[str]) -> list[int]:
    """Return the differences of shares by instance, as multiples of a common denominator."""
    whole = min(math.lcm(one.samples, other.samples), max(1, _MAX_WORK // max(1, len(tasks)) ** 2))
    shares = (
        [_reached(entry, name) * whole / entry.samples for name in tasks] for entry in (one, other)
    )
    return [round(mine - theirs) for mine, theirs in zip(*shares, strict=True)]


def _reached(entry: Entry, name: str) -> int:
    return getattr(entry.tasks[name], entry.level) if name in entry.tasks else 0


#: One board is rendered many times.
_p = lru_cache(maxsize=20_000)(permutation)
