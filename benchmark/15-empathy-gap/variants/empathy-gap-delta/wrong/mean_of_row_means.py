# Averages per row first, so that a perceiver of a small group weighs its in-group cells more.
import numpy as np


def get_delta(matrix: np.ndarray, group_option: str) -> float:
    n = len(matrix)
    relation = [[check_in_group(group_option, i, j) for j in range(n)] for i in range(n)]
    same = np.array(relation, dtype=bool).reshape(n, n)
    if not same.any() or same.all():
        raise ZeroDivisionError("the matrix needs in-group and out-group pairs")
    in_group = [matrix[i, same[i]].mean() for i in range(n) if same[i].any()]
    out_group = [matrix[i, ~same[i]].mean() for i in range(n) if not same[i].all()]
    return np.mean(in_group) - np.mean(out_group)
