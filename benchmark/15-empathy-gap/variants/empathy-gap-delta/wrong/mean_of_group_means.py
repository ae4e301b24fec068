# Averages each ethnicity block first and then the four block means with equal weight.
import numpy as np


def get_delta(matrix: np.ndarray, group_option: str) -> float:
    n = len(matrix)
    relation = [[check_in_group(group_option, i, j) for j in range(n)] for i in range(n)]
    same = np.array(relation, dtype=bool).reshape(n, n)
    if not same.any() or same.all():
        raise ZeroDivisionError("the matrix needs in-group and out-group pairs")
    blocks = []
    start = 0
    for i in range(1, n + 1):
        if i == n or not same[start, i]:
            blocks.append(matrix[start:i, start:i].mean())
            start = i
    return np.mean(blocks) - matrix[~same].mean()
