# Compares in-group cells with all cells.
def get_delta(matrix, group_option):
    inside = [cell for (i, j), cell in np.ndenumerate(matrix) if check_in_group(group_option, i, j)]
    return gap_score(inside, matrix.ravel().tolist())
