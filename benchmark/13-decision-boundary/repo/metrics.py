"""Numbers that describe a decision boundary on a square grid."""

import numpy as np


def accuracy(probabilities: np.ndarray, labels: np.ndarray) -> float:
    """Share of queries (q,) whose more likely class is the right one."""
    return float(np.mean((probabilities > 0.5) == labels))


def boundary_length(probabilities: np.ndarray) -> float:
    """Length of the boundary in sides of the square: pairs of neighbouring cells (g, g) with different classes over g.

    A straight boundary across the square has length 1; a rough one, or one with islands, is longer.
    """
    classes = probabilities > 0.5
    changes = np.count_nonzero(classes[1:] != classes[:-1]) + np.count_nonzero(classes[:, 1:] != classes[:, :-1])
    return float(changes / len(classes))


def mean_entropy(probabilities: np.ndarray) -> float:
    """Mean entropy of the predictions in bits: 0 if all are certain, 1 if all are a coin toss."""
    both = np.stack([probabilities, 1 - probabilities])
    return float(-np.sum(both * np.log2(both, out=np.zeros_like(both), where=both > 0), axis=0).mean())
