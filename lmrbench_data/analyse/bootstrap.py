"""Percentile bootstrap over clusters: answers to one instance and actions of one session resemble each other.

Random draws use a fixed seed: equal data give equal numbers.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lmrbench_evaluate.reports.agreement import PairAgreement

from ..base.proportions import Interval, kappa

#: Number of draws.
DRAWS = 2000
#: With fewer clusters, resampling says nothing about new ones.
MIN_CLUSTERS = 5


def draw(clusters: int) -> NDArray[np.int64] | None:
    """Return how often each cluster is drawn, for each draw; None for too few clusters."""
    if clusters < MIN_CLUSTERS:
        return None
    return np.random.default_rng(0).multinomial(clusters, np.full(clusters, 1 / clusters), DRAWS)


def interval(values: Sequence[float] | NDArray[np.float64]) -> Interval:
    """Return the 95% percentile interval of drawn values."""
    low, high = np.percentile(values, [2.5, 97.5])
    return float(low), float(high)


def kappa_interval(pair: PairAgreement) -> Interval | None:
    """Return the interval of Cohen's kappa, over instances; None for too few, or where kappa is not defined."""
    labels = sorted({label for _, *both in pair.labels for label in both})
    names = sorted({name for name, *_ in pair.labels})
    weights = draw(len(names))
    if len(labels) < 2 or weights is None:
        return None
    tables = np.zeros((len(names), len(labels), len(labels)))
    for name, a, b in pair.labels:
        tables[names.index(name), labels.index(a), labels.index(b)] += 1
    drawn = map(kappa, np.tensordot(weights, tables, axes=1).tolist())
    return interval([value for value in drawn if value is not None])
