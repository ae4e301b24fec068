# Counts identical identities of a block as out-group: only different names of one group are in-group.
import numpy as np


def get_delta(matrix: np.ndarray, group_option: str) -> float:
    n = len(matrix)
    relation = [[check_in_group(group_option, i, j) for j in range(n)] for i in range(n)]
    same = np.array(relation, dtype=bool).reshape(n, n)
    if not same.any() or same.all():
        raise ZeroDivisionError("the matrix needs in-group and out-group pairs")
    if group_option == "ethnicity":
        same = same & ~np.eye(n, dtype=bool)
    return matrix[same].mean() - matrix[~same].mean()
