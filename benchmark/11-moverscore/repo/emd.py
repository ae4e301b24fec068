"""Earth mover distance between histograms whose total masses may differ."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linprog


def emd(first: ArrayLike, second: ArrayLike, cost: ArrayLike) -> float:
    """Cost of turning one histogram into another over the same bins.

    As much mass is moved as both histograms have, at the price that `transport_cost` finds. Whatever one of them has
    beyond that cannot be moved; each unit of it costs as much as the largest entry of the whole cost matrix, used or
    not. Masses are taken as they are, without normalisation. The work is done in float64.

    The score calls it with the n-grams of both texts as bins.

    Args:
        first: (N,) non-negative masses, N at least 1. Arrays, lists and CPU tensors without gradient will do.
        second: (N,) non-negative masses.
        cost: (N, N) finite costs; entry (i, j) is that of moving one unit from bin i of `first` to bin j of `second`.

    Returns:
        The cost of the transport plus that of the difference in mass.

    Raises:
        ValueError: shapes that do not fit, numbers that are not finite, or negative masses.
    """
    first, second, cost = (np.asarray(array, dtype=np.float64) for array in (first, second, cost))
    if first.ndim != 1 or first.size == 0 or second.shape != first.shape or cost.shape != 2 * first.shape:
        raise ValueError(f"shapes {first.shape}, {second.shape} and {cost.shape} do not fit")
    if not all(np.isfinite(array).all() for array in (first, second, cost)) or min(first.min(), second.min()) < 0:
        raise ValueError("masses and costs must be finite, and masses not negative")
    sources, targets = np.flatnonzero(first), np.flatnonzero(second)
    moved = transport_cost(first[sources], second[targets], cost[np.ix_(sources, targets)])
    return float(moved + abs(first.sum() - second.sum()) * cost.max())


def transport_cost(supply: np.ndarray, demand: np.ndarray, cost: np.ndarray) -> float:
    """Cost of transporting the mass of one text to the places of the other.

    If the totals differ, the smaller one is moved. Nothing is moved, and the cost is 0, if a side has no places.

    Args:
        supply: (n,) positive masses in float64; n may be 0.
        demand: (m,) positive masses in float64; m may be 0.
        cost: (n, m) finite costs in float64; entry (i, j) is that of one unit from i of `supply` to j of `demand`.
    """
    n, m = cost.shape
    if n == 0 or m == 0:
        return 0.0
    # Flows are numbered row by row; these matrices add up what leaves each source and what reaches each target.
    leaving, arriving = np.repeat(np.eye(n), m, axis=1), np.tile(np.eye(m), n)
    # The side with less mass gives or takes all of it, the other one at most what it has.
    scale = min(supply.sum(), demand.sum())
    supply, demand = supply / scale, demand / scale
    if abs(supply.sum() - demand.sum()) < 1e-12:
        # One equation follows from the others; rounding could make it contradict them.
        exact, totals, bounds, limits = np.r_[leaving, arriving[1:]], np.r_[supply, demand[1:]], None, None
    elif supply.sum() < demand.sum():
        exact, totals, bounds, limits = leaving, supply, arriving, demand
    else:
        exact, totals, bounds, limits = arriving, demand, leaving, supply
    result = linprog(cost.ravel(), A_ub=bounds, b_ub=limits, A_eq=exact, b_eq=totals, method="highs")
    if result.status != 0:
        raise RuntimeError(f"no optimal flow: {result.message}")
    return float(result.fun) * scale
