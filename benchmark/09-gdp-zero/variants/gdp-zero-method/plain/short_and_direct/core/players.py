# The equations of prior and value, directly.
import numpy as np


def prior_policy(counts):
    return (counts + 1) / np.sum(counts + 1)


def state_value(counts):
    n = counts.sum()
    return float((counts * np.linspace(-1, 1, 5)).sum() / n) if n > 0 else 0.0
