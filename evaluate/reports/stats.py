"""Statistics of shares and of paired verdicts: Wilson's interval, pass@k, McNemar's test."""

import math
from collections.abc import Sequence
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
    """Two-sided p of McNemar's exact test, from how many instances only the one and only the other side passed."""
    from statsmodels.stats.contingency_tables import mcnemar as test

    return min(1.0, float(test([[0, only_first], [only_second, 0]], exact=True).pvalue))


def holm(p_values: Sequence[float]) -> list[float]:
    """P values adjusted for so many comparisons at once (Holm 1979)."""
    if not p_values:
        return []
    from statsmodels.stats.multitest import multipletests

    return [float(p) for p in multipletests(p_values, method="holm")[1]]
