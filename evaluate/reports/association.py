"""How far two orders or labels go together: Cohen's kappa and the partial gamma; and means, with bootstrap intervals.

Random draws start from a fixed seed: equal rows give equal numbers.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

#: Draws of the bootstrap, and of the permutation test.
DRAWS = 2000
PERMUTATIONS = 999
#: Of fewer, resampling says nothing about what others would bring.
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
    """How many could be compared."""


class Mean(NamedTuple):
    """A mean; None where there is nothing to take it of."""

    value: float | None
    interval: tuple[float, float] | None
    """95 %."""
    items: int


def mean_by_cluster(values: Sequence[float], clusters: Sequence[str]) -> Mean:
    """The mean of values, with the percentile bootstrap over clusters.

    Args:
        clusters: where each value belongs; values of one cluster resemble each other, so whole clusters are drawn.
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
    """How often each cluster is drawn, in each draw of the bootstrap."""
    return np.random.default_rng(0).multinomial(clusters, np.full(clusters, 1 / clusters), DRAWS)


def cohen(first: Sequence[str], second: Sequence[str], clusters: Sequence[str]) -> Kappa:
    """Cohen's kappa of two raters, with the percentile bootstrap over clusters.

    Answers to one instance resemble each other, so whole instances are drawn, not answers.

    Args:
        first, second: the labels of the items.
        clusters: where each item belongs.
    """
    labels, names = sorted({*first, *second}), sorted(set(clusters))
    if len(labels) < 2:
        return Kappa(None, None)  # chance alone would agree always
    tables = np.zeros((len(names), len(labels), len(labels)))
    for a, b, cluster in zip(first, second, clusters, strict=True):
        tables[names.index(cluster), labels.index(a), labels.index(b)] += 1
    value = float(_kappa(tables.sum(axis=0)))
    if len(names) < MIN_CLUSTERS:
        return Kappa(value, None)
    drawn = _kappa(np.tensordot(_draws(len(names)), tables, axes=1))
    low, high = np.nanpercentile(drawn, [2.5, 97.5])
    return Kappa(value, (float(low), float(high)))


def _kappa(tables: NDArray[np.float64]) -> NDArray[np.float64]:
    """Cohen 1960, of one table or many; where chance alone would agree always it is not a number."""
    tables = tables / tables.sum(axis=(-2, -1), keepdims=True)
    observed = np.trace(tables, axis1=-2, axis2=-1)
    chance = (tables.sum(axis=-1) * tables.sum(axis=-2)).sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(chance < 1 - 1e-12, (observed - chance) / (1 - chance), np.nan))


def partial_gamma(first: Sequence[float], second: Sequence[int], strata: Sequence[str]) -> Gamma:
    """Whether two orders go together among items of one stratum (Davis 1967, partial gamma).

    Of all pairs of one stratum that differ in both: the share in which both orders agree, less the share in which they
    do not. The two-sided p is that of a permutation test, in which `second` is shuffled within each stratum.
    """
    x, y, groups = np.asarray(first, dtype=float), np.asarray(second), np.asarray(strata)
    members = [np.flatnonzero(groups == name) for name in sorted(set(strata))]
    signs = [np.sign(x[rows, None] - x[None, rows]) for rows in members]
    # How two answers compare depends on their levels alone: sums by level stand for all pairs.
    levels = sorted(set(second))
    hot = (y[:, None] == np.asarray(levels)).astype(float) if levels else np.zeros((0, 0))
    above = np.tril(np.ones((len(levels), len(levels))), -1)

    def agreeing(order: Sequence[NDArray[np.intp]]) -> float:
        """Pairs in which both orders agree, less those in which they do not."""
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
