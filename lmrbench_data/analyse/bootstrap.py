"""Percentile bootstrap over clusters, of means and of Cohen's kappa.

Answers to one instance and actions of one session resemble each other, so whole clusters are drawn. Random draws use a
fixed seed: equal data give equal numbers.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base.shares import kappa

Interval = tuple[float, float]
#: Number of draws.
DRAWS = 2000
#: With fewer clusters, resampling says nothing about new ones.
MIN_CLUSTERS = 5


class Kappa(NamedTuple):
    """Cohen's kappa; None where it is not defined."""

    value: float | None
    interval: Interval | None
    """95 %."""


def draw(clusters: int, seed: int = 0) -> NDArray[np.int64] | None:
    """Return how often each cluster is drawn, for each draw; None for too few clusters."""
    if clusters < MIN_CLUSTERS:
        return None
    return np.random.default_rng(seed).multinomial(clusters, np.full(clusters, 1 / clusters), DRAWS)


def interval(values: Sequence[float] | NDArray[np.float64]) -> Interval:
    """Return the 95 % percentile interval of drawn values."""
    low, high = np.percentile(values, [2.5, 97.5])
    return float(low), float(high)


def mean_interval(values: Sequence[float]) -> Interval | None:
    """Return the interval of the mean of independent values."""
    weights = draw(len(values))
    return None if weights is None else interval(weights @ np.asarray(values) / len(values))


def cohen(first: Sequence[str], second: Sequence[str], clusters: Sequence[str]) -> Kappa:
    """Return Cohen's kappa of two raters with its interval.

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
    value, weights = kappa(tables.sum(axis=0).tolist()), draw(len(names))
    if weights is None:
        return Kappa(value, None)
    drawn = map(kappa, np.tensordot(weights, tables, axes=1).tolist())
    return Kappa(value, interval([one for one in drawn if one is not None]))
