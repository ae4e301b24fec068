"""Statistics of samples and of paired verdicts: pass@k, paired tests, intervals, adjustment.

The module imports the standard library alone: the leaderboard Space gets a copy of it.
"""

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from statistics import NormalDist


def pass_at_k(samples: int, passed: int, k: int) -> float:
    """Return the unbiased estimate of the chance that one of `k` samples passes.

    `passed` of the instance's `samples`, at least `k`, have passed (Chen et al. 2021, Eq. 1).
    """
    if not 1 <= k <= samples:
        raise ValueError(f"pass@{k} needs at least {max(k, 1)} samples, not {samples}")
    return 1 - math.comb(samples - passed, k) / math.comb(samples, k)


def pass_all_k(samples: int, passed: int, k: int) -> float:
    """Return the unbiased estimate of the chance that all of `k` samples pass (pass^k).

    `passed` of the instance's `samples`, at least `k`, have passed (Yao et al. 2024, Sec. 4).
    """
    if not 1 <= k <= samples:
        raise ValueError(f"pass^{k} needs at least {max(k, 1)} samples, not {samples}")
    return math.comb(passed, k) / math.comb(samples, k)


def least_differing(comparisons: int, alpha: float) -> int:
    """Return the least number of instances that have to differ, all in favour of one model.

    With `d` of them, the exact paired test gives p = 2 / 2^d, which Holm's adjustment multiplies by
    the number of comparisons; the result is the smallest `d` with an adjusted p below `alpha`.
    """
    return math.floor(math.log2(2 * comparisons / alpha)) + 1


def permutation(differences: Sequence[int]) -> float:
    """Return the two-sided p of Fisher's exact paired permutation test.

    Under the null hypothesis each difference is as likely with the other sign. p is the share of
    all assignments of signs whose sum is at least as far from 0 as the observed one. With
    differences of -1, 0 and 1 it is the p of McNemar's exact test (Fay 2010).
    """
    sums = Counter({0: 1})
    for size in map(abs, differences):
        if size:
            larger = Counter({total + size: count for total, count in sums.items()})
            larger.update({total - size: count for total, count in sums.items()})
            sums = larger
    observed = abs(sum(differences))
    extreme = sum(count for total, count in sums.items() if abs(total) >= observed)
    return float(Fraction(extreme, sums.total()))


def paired_interval(
    differences: Sequence[float], p: float, level: float = 0.95
) -> tuple[float, float]:
    """Return an interval of the mean of paired differences, each of which is one independent unit.

    It is the normal interval after half a unit was added on either side, of the root mean square of
    the units that differ (for differences of -1, 0 and 1: Agresti and Min 2005), which keeps it
    honest for few units and for ties. It includes 0 where the exact test does not reject equality,
    so interval and p never contradict each other there.

    Args:
        differences: from -1 to 1, such as the differences of two models' shares on each instance.
        p: the exact p of the hypothesis of no difference.

    Returns:
        Lower and upper bound; (-1, 1) without differences.
    """
    if not differences:
        return -1.0, 1.0
    squares = [value * value for value in differences if value]
    added = sum(squares) / len(squares) if squares else 1.0
    count = len(differences) + 2
    total = sum(differences)
    spread = math.sqrt(sum(squares) + added - total * total / count)
    half = NormalDist().inv_cdf(0.5 + level / 2) * spread / count
    low = max(-1.0, total / count - half)
    high = min(1.0, total / count + half)
    if p >= 1 - level:
        return min(low, 0.0), max(high, 0.0)
    return low, high


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p values adjusted for their number (Holm 1979), stepping down from the smallest."""
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=lambda index: p_values[index])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted
