"""The probe: a linear classifier of the knowledge source."""

import numpy as np
from sklearn.linear_model import LogisticRegression

from src import config


def fit_probe(features: np.ndarray, targets: np.ndarray) -> LogisticRegression:
    """Fit a new logistic regression with `config.PROBE_SETTINGS`.

    Args:
        features: array (n, d), used as they are.
        targets: classes (n,), at least two different ones.
    """
    return LogisticRegression(**config.PROBE_SETTINGS).fit(features, targets)
