"""Probabilities of classes, how uncertain a prediction is, and which points to label next."""

from collections.abc import Sequence

import numpy as np


def class_probabilities(logits: np.ndarray, label_ids: Sequence[int]) -> np.ndarray:
    """Turn a model's next-word logits into probabilities of the classes.

    Args:
        logits: (p, V), one row a query, over the whole vocabulary. They may be as large as 1000 in size.
        label_ids: ids of the K words that name the classes, in the order of the classes.

    Returns:
        float64 (p, K): the paper's p(c | x).
    """
    labels = np.asarray(logits, dtype=np.float64)[:, list(label_ids)]
    weights = np.exp(labels - labels.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def uncertainty(probabilities: np.ndarray) -> np.ndarray:
    """Uncertainty of predictions as in the paper: float64 (p,) from class probabilities (p, K), zeros among them."""
    logarithms = np.log(probabilities, out=np.zeros_like(probabilities), where=probabilities > 0)
    return -(probabilities * logarithms).sum(axis=1)


def select_points(points: np.ndarray, uncertainties: np.ndarray, count: int, spacing: float) -> np.ndarray:
    """Choose the points that a round of active learning labels.

    Args:
        points: (p, d), the candidates.
        uncertainties: (p,), all different.
        count: k, how many points to choose.
        spacing: delta of the paper, in units of the features.

    Returns:
        Indices of the chosen points, int64, in the order in which they are chosen; fewer than `count` if the candidates
        do not suffice.
    """
    chosen: list[int] = []
    for index in np.argsort(-uncertainties):
        if len(chosen) == count:
            break
        if np.all(np.linalg.norm(points[chosen] - points[index], axis=1) >= spacing):
            chosen.append(int(index))
    return np.array(chosen, dtype=np.int64)
