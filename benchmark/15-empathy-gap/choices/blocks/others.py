import numpy as np
import pandas as pd
from const import GROUP_MAPPINGS, group_of


def group_matrix(matrix, group_option):
    groups = np.array([group_of(name) for name in GROUP_MAPPINGS[group_option]])
    labels = list(dict.fromkeys(groups.tolist()))
    blocks = pd.DataFrame(0.0, index=labels, columns=labels)
    different = ~np.eye(len(groups), dtype=bool)
    for perceivers in labels:
        for experiencers in labels:
            block = np.outer(groups == perceivers, groups == experiencers)
            cells = block & different if (block & different).any() else block
            blocks.loc[perceivers, experiencers] = matrix[cells].mean()
    return blocks
