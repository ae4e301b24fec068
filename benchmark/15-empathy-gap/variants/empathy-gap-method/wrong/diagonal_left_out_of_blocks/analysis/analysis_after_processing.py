# Leaves the diagonal out where a group has several names.
def get_delta(matrix, group_option):
    in_group, out_group = [], []
    for (i, j), cell in np.ndenumerate(matrix):
        if not check_in_group(group_option, i, j):
            out_group.append(cell)
        elif i != j or group_option != "ethnicity":
            in_group.append(cell)
    return gap_score(in_group, out_group)
