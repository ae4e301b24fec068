# Lets NumPy return NaN for the mean over no cell instead of raising ZeroDivisionError.
import numpy as np


def get_delta(matrix: np.ndarray, group_option: str) -> float:
    n = len(matrix)
    relation = [[check_in_group(group_option, i, j) for j in range(n)] for i in range(n)]
    same = np.array(relation, dtype=bool).reshape(n, n)
    return np.mean(matrix[same]) - np.mean(matrix[~same])
