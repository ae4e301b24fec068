# Takes the diagonal as in-group in every category, so ethnicity names of one group count as out-group.
import numpy as np


def get_delta(matrix: np.ndarray, group_option: str) -> float:
    n = len(matrix)
    diagonal = sum(matrix[i, i] for i in range(n))
    rest = sum(matrix[i, j] for i in range(n) for j in range(n) if i != j)
    return diagonal / n - rest / (n * n - n)
