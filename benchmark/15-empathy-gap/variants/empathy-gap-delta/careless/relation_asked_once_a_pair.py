# Asks for the lower triangle only and mirrors the answer, so another relation is misread.
import numpy as np


def get_delta(matrix: np.ndarray, group_option: str) -> float:
    n = len(matrix)
    same = np.zeros((n, n), dtype=bool)
    for i in range(n):
        for j in range(i + 1):
            same[i, j] = same[j, i] = check_in_group(group_option, i, j)
    if not same.any() or same.all():
        raise ZeroDivisionError("the matrix needs in-group and out-group pairs")
    return matrix[same].mean() - matrix[~same].mean()
