"""Intervals for shares of passed instances."""

import math
from statistics import NormalDist


def wilson(passed: int, total: int, level: float = 0.95) -> tuple[float, float]:
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
