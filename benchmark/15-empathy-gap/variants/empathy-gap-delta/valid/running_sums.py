def get_delta(matrix: np.ndarray, group_option: str) -> float:
    sums = {True: 0.0, False: 0.0}
    counts = {True: 0, False: 0}
    for i, row in enumerate(matrix.tolist()):
        for j, value in enumerate(row):
            side = bool(check_in_group(group_option, i, j))
            sums[side] += value
            counts[side] += 1
    return sums[True] / counts[True] - sums[False] / counts[False]
