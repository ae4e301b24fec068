# Takes the mean over no cell as 0 instead of raising ZeroDivisionError.
import numpy as np


def get_delta(matrix: np.ndarray, group_option: str) -> float:
    in_group, out_group = [], []
    for i, j in np.ndindex(matrix.shape):
        (in_group if check_in_group(group_option, i, j) else out_group).append(matrix[i, j])
    in_mean = sum(in_group) / len(in_group) if in_group else 0.0
    out_mean = sum(out_group) / len(out_group) if out_group else 0.0
    return in_mean - out_mean
