"""The spread of a rank: the places that paired tests on the same instances cannot tell apart.

As in the harness's reports, the test is the exact permutation test (McNemar's with one sample
each), and p is adjusted for all pairs of the ranking (Holm).
"""

import itertools
import math
from collections.abc import Sequence
from functools import lru_cache

from base.record import Entry
from base.stats import holm, permutation

#: Two models differ if their adjusted p is below this level.
LEVEL = 0.05
#: Models beyond this place get no spread: the number of pairs grows with its square.
MAX_COMPARED = 60
#: Limit of instances² x denominator, which bounds the time of a test; shares are rounded to fit.
_MAX_WORK = 400_000


def rank_spreads(entries: Sequence[Entry], tasks: Sequence[str]) -> list[tuple[int, int]]:
    """Return the best and worst place of each model that the tests leave open.

    The best place is one more than the number of models that are significantly better; the worst
    leaves room below for those that are significantly worse.

    Args:
        entries: entries in the order of ranking, so the first of two that differ is the better
            one. Those after the first `MAX_COMPARED` are left out.
    """
    number = min(len(entries), MAX_COMPARED)
    best = [1] * number
    worst = [len(entries)] * number
    pairs = list(itertools.combinations(range(number), 2))
    p_values = holm([_p(_differences(entries[i], entries[j], tasks)) for i, j in pairs])
    for (better, worse), p in zip(pairs, p_values, strict=True):
        if p < LEVEL:
            best[worse] += 1
            worst[better] -= 1
    return list(zip(best, worst, strict=True))


def _differences(one: Entry, other: Entry, tasks: Sequence[str]) -> tuple[int, ...]:
    """Return the sorted differences of shares by instance, in multiples of a common denominator."""
    affordable = max(1, _MAX_WORK // max(1, len(tasks)) ** 2)
    whole = min(math.lcm(one.samples, other.samples), affordable)
    differences = []
    for name in tasks:
        share = _reached(one, name) * whole / one.samples
        differences.append(round(share - _reached(other, name) * whole / other.samples))
    return tuple(sorted(differences))


def _reached(entry: Entry, name: str) -> int:
    return getattr(entry.tasks[name], entry.level) if name in entry.tasks else 0


#: Cached, because one board is rendered many times.
_p = lru_cache(maxsize=20_000)(permutation)
