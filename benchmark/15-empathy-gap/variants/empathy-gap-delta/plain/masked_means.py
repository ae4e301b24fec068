import numpy as np


def get_delta(matrix: np.ndarray, group_option: str) -> float:
    n = matrix.shape[0]
    same = np.zeros((n, n), dtype=bool)
    for i in range(n):
        for j in range(n):
            same[i, j] = check_in_group(group_option, i, j)
    return float(matrix[same].mean() - matrix[~same].mean())
