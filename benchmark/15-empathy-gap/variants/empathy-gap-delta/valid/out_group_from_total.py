import numpy as np


def get_delta(matrix: np.ndarray, group_option: str) -> float:
    n = len(matrix)
    in_sum, in_count = 0.0, 0
    for i in range(n):
        for j in range(n):
            if check_in_group(group_option, i, j):
                in_sum += float(matrix[i, j])
                in_count += 1
    out_sum = float(np.sum(matrix)) - in_sum
    return in_sum / in_count - out_sum / (n * n - in_count)
