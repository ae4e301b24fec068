# Centres the caller's matrix in place, which leaves the gap as it is but changes the input.
import numpy as np


def get_delta(matrix: np.ndarray, group_option: str) -> float:
    n = len(matrix)
    relation = [[check_in_group(group_option, i, j) for j in range(n)] for i in range(n)]
    same = np.array(relation, dtype=bool).reshape(n, n)
    if not same.any() or same.all():
        raise ZeroDivisionError("the matrix needs in-group and out-group pairs")
    matrix -= matrix.mean()
    return matrix[same].mean() - matrix[~same].mean()
