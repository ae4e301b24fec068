# Divides the difference by the pooled standard deviation, as an effect size.
import numpy as np


def get_delta(matrix: np.ndarray, group_option: str) -> float:
    n = len(matrix)
    relation = [[check_in_group(group_option, i, j) for j in range(n)] for i in range(n)]
    same = np.array(relation, dtype=bool).reshape(n, n)
    if not same.any() or same.all():
        raise ZeroDivisionError("the matrix needs in-group and out-group pairs")
    in_group, out_group = matrix[same], matrix[~same]
    pooled = np.sqrt((in_group.var() * in_group.size + out_group.var() * out_group.size) / matrix.size)
    return (in_group.mean() - out_group.mean()) / pooled
