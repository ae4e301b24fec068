"""Statistics of shares and of paired verdicts: Wilson's interval, pass@k, McNemar's and the permutation test."""

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from statistics import NormalDist


def wilson(passed: float, total: float, level: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval for a share (Wilson 1927, Eq. 1): good for few instances and for shares near 0 and 1.

    Returns:
        Lower and upper bound; (0, 1) if `total` is 0.
    """
    if total == 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf(0.5 + level / 2)
    share = passed / total
    centre = share + z * z / (2 * total)
    half = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    scale = 1 + z * z / total
    return max(0.0, (centre - half) / scale), min(1.0, (centre + half) / scale)


def pass_at_k(samples: int, passed: int, k: int) -> float:
    """The unbiased estimate of the chance that one of `k` samples passes (Chen et al. 2021, Eq. 1).

    Args:
        samples: how many samples of the instance there are, at least `k`.
        passed: how many of them passed.
    """
    if not 1 <= k <= samples:
        raise ValueError(f"pass@{k} needs at least {max(k, 1)} samples, not {samples}")
    return 1 - math.comb(samples - passed, k) / math.comb(samples, k)


def mcnemar(only_first: int, only_second: int) -> float:
    """Two-sided p of McNemar's exact test, from how many instances only the one and only the other side passed.

    Under the null hypothesis each of the n instances that differ falls to either side with probability 1/2, so p is
    twice the lower tail of a binomial distribution (Fay 2010), at most 1.
    """
    n, least = only_first + only_second, min(only_first, only_second)
    # Exact until the last step: 2**n is too large for a float from n = 1024 on.
    tail = Fraction(sum(math.comb(n, k) for k in range(least + 1)), 2**n)
    return min(1.0, float(2 * tail))


def permutation(differences: Sequence[int]) -> float:
    """Two-sided p of Fisher's exact paired permutation test: how often random signs sum to as much as was seen.

    Under the null hypothesis each difference is as likely with the other sign. All assignments of signs are counted, by
    their sums. With differences of -1, 0 and 1 this is McNemar's exact test.
    """
    sums = Counter({0: 1})
    for size in filter(None, map(abs, differences)):
        larger = Counter({total + size: count for total, count in sums.items()})
        larger.update({total - size: count for total, count in sums.items()})
        sums = larger
    seen = abs(sum(differences))
    return float(Fraction(sum(count for total, count in sums.items() if abs(total) >= seen), sums.total()))


def holm(p_values: Sequence[float]) -> list[float]:
    """P values adjusted for so many comparisons at once (Holm 1979): step down from the smallest."""
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=lambda index: p_values[index])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted
