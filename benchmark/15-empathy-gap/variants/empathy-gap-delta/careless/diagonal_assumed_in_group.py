# Takes identical identities as in-group without asking check_in_group.
import numpy as np


def get_delta(matrix: np.ndarray, group_option: str) -> float:
    in_group, out_group = [], []
    for i, j in np.ndindex(matrix.shape):
        cells = in_group if i == j or check_in_group(group_option, i, j) else out_group
        cells.append(matrix[i, j])
    return sum(in_group) / len(in_group) - sum(out_group) / len(out_group)
