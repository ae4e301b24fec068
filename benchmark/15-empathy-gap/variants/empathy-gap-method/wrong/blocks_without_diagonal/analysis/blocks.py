# Leaves pairs of one name out of the blocks of groups with several names.
def group_matrix(matrix, group_option):
    groups = np.array([group_of(name) for name in GROUP_MAPPINGS[group_option]])
    labels = list(dict.fromkeys(groups.tolist()))
    blocks = pd.DataFrame(0.0, index=labels, columns=labels)
    several = len(labels) < len(groups)
    off_diagonal = ~np.eye(len(groups), dtype=bool) if several else np.ones_like(matrix, dtype=bool)
    for a in labels:
        for b in labels:
            blocks.loc[a, b] = matrix[np.outer(groups == a, groups == b) & off_diagonal].mean()
    return blocks
