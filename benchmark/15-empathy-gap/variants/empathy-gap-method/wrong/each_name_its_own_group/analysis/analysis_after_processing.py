# Takes only equal names for in-group.
def check_in_group(group_option, i, j):
    return i == j
