# Writes the block sizes down once more instead of asking check_in_group.
import numpy as np


def get_delta(matrix: np.ndarray, group_option: str) -> float:
    group = np.repeat(np.arange(4), [5, 4, 3, 6]) if group_option == "ethnicity" else np.arange(len(matrix))
    group = group[: len(matrix)]
    same = group[:, None] == group[None, :]
    if not same.any() or same.all():
        raise ZeroDivisionError("the matrix needs in-group and out-group pairs")
    return matrix[same].mean() - matrix[~same].mean()
