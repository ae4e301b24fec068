"""Gaps that chance alone would give: permuted matrices, and the interval that their scores span."""

from collections.abc import Sequence

import numpy as np


def permute_matrix(matrix: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One permuted matrix of the paper, drawn with `rng`: a new array of the shape of `matrix`, (n, n).

    `matrix` is not changed.
    """
    rows = rng.permutation(len(matrix))
    columns = rng.permutation(len(matrix))
    return matrix[rows][:, columns]


def chance_interval(scores: Sequence[float]) -> tuple[float, float]:
    """Lower and upper end of the interval of chance.

    Args:
        scores: gaps of permuted matrices, at least two.
    """
    low, high = np.percentile(scores, [2.5, 97.5])
    return float(low), float(high)
