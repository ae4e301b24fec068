"""Measure the association of two labels or orders (Cohen's kappa, partial gamma), and means, with bootstrap intervals.

Random draws use a fixed seed: equal rows give equal numbers.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lmrbench_data.base.shares import kappa

#: Number of draws of the bootstrap and of the permutation test.
DRAWS = 2000
PERMUTATIONS = 999
#: With fewer clusters, resampling says nothing about new ones.
MIN_CLUSTERS = 5


class Kappa(NamedTuple):
    """Cohen's kappa; None where it is not defined."""

    value: float | None
    interval: tuple[float, float] | None
    """95 %."""


class Gamma(NamedTuple):
    """The partial gamma of two orders, from -1 to 1; None where no two items can be compared."""

    value: float | None
    p: float | None
    pairs: int
    """Number of comparable pairs."""


class Mean(NamedTuple):
    """A mean; None without values."""

    value: float | None
    interval: tuple[float, float] | None
    """95 %."""
    items: int


def mean_by_cluster(values: Sequence[float], clusters: Sequence[str]) -> Mean:
    """Return the mean of values, with the percentile bootstrap over clusters.

    Args:
        clusters: the cluster of each value; values of a cluster resemble each other, so whole clusters are drawn.
    """
    if not values:
        return Mean(None, None, 0)
    names, inverse = np.unique(np.asarray(clusters), return_inverse=True)
    sums, counts = np.bincount(inverse, weights=values), np.bincount(inverse)
    mean = float(np.mean(values))
    if len(names) < MIN_CLUSTERS:
        return Mean(mean, None, len(values))
    weights = _draws(len(names))
    low, high = np.percentile(weights @ sums / (weights @ counts), [2.5, 97.5])
    return Mean(mean, (float(low), float(high)), len(values))


def _draws(clusters: int) -> NDArray[np.int64]:
    """Return how often each cluster is drawn, for each draw of the bootstrap."""
    return np.random.default_rng(0).multinomial(clusters, np.full(clusters, 1 / clusters), DRAWS)


def cohen(first: Sequence[str], second: Sequence[str], clusters: Sequence[str]) -> Kappa:
    """Return Cohen's kappa of two raters, with the percentile bootstrap over clusters.

    Answers to one instance resemble each other, so whole instances are drawn, not answers.

    Args:
        first, second: the labels of the items.
        clusters: the cluster of each item.
    """
    labels, names = sorted({*first, *second}), sorted(set(clusters))
    if len(labels) < 2:
        return Kappa(None, None)
    tables = np.zeros((len(names), len(labels), len(labels)))
    for a, b, cluster in zip(first, second, clusters, strict=True):
        tables[names.index(cluster), labels.index(a), labels.index(b)] += 1
    value = kappa(tables.sum(axis=0).tolist())
    if len(names) < MIN_CLUSTERS:
        return Kappa(value, None)
    drawn = map(kappa, np.tensordot(_draws(len(names)), tables, axes=1).tolist())
    low, high = np.percentile([one for one in drawn if one is not None], [2.5, 97.5])
    return Kappa(value, (float(low), float(high)))


def partial_gamma(first: Sequence[float], second: Sequence[int], strata: Sequence[str]) -> Gamma:
    """Return the association of two orders within strata (Davis 1967, partial gamma).

    Among all pairs of a stratum that differ in both orders: the share of agreeing pairs minus the share of disagreeing
    ones. The two-sided p comes from a permutation test that shuffles `second` within each stratum.
    """
    x, y, groups = np.asarray(first, dtype=float), np.asarray(second), np.asarray(strata)
    members = [np.flatnonzero(groups == name) for name in sorted(set(strata))]
    signs = [np.sign(x[rows, None] - x[None, rows]) for rows in members]
    # A comparison depends on the levels alone, so sums by level replace all pairs.
    levels = sorted(set(second))
    hot = (y[:, None] == np.asarray(levels)).astype(float) if levels else np.zeros((0, 0))
    above = np.tril(np.ones((len(levels), len(levels))), -1)

    def agreeing(order: Sequence[NDArray[np.intp]]) -> float:
        """Return the number of agreeing pairs minus the number of disagreeing ones."""
        return sum(
            float((above * (hot[rows].T @ sign @ hot[rows])).sum()) for rows, sign in zip(order, signs, strict=True)
        )

    pairs = sum(
        float((above * (hot[rows].T @ abs(sign) @ hot[rows])).sum()) for rows, sign in zip(members, signs, strict=True)
    )
    if not pairs:
        return Gamma(None, None, 0)
    seen, random = agreeing(members), np.random.default_rng(0)
    extreme = sum(
        abs(agreeing([random.permutation(rows) for rows in members])) >= abs(seen) - 1e-9 for _ in range(PERMUTATIONS)
    )
    return Gamma(seen / pairs, (1 + extreme) / (1 + PERMUTATIONS), round(pairs))
