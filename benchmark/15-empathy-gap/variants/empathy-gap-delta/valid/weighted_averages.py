import numpy as np


def get_delta(matrix: np.ndarray, group_option: str) -> float:
    relation = np.vectorize(lambda i, j: float(check_in_group(group_option, i, j)), otypes=[float])
    weights = relation(*np.indices(matrix.shape))
    return np.average(matrix, weights=weights) - np.average(matrix, weights=1.0 - weights)
