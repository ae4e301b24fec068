"""Measure the agreement of two raters (Cohen's kappa) and means, with bootstrap intervals.

Random draws use a fixed seed: equal rows give equal numbers.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lmrbench_data.base.shares import kappa

#: Number of draws of the bootstrap.
DRAWS = 2000
#: With fewer clusters, resampling says nothing about new ones.
MIN_CLUSTERS = 5


class Kappa(NamedTuple):
    """Cohen's kappa; None where it is not defined."""

    value: float | None
    interval: tuple[float, float] | None
    """95 %."""


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
