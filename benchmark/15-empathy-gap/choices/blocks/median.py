import numpy as np
import pandas as pd
from const import GROUP_MAPPINGS, group_of


def group_matrix(matrix, group_option):
    groups = np.array([group_of(name) for name in GROUP_MAPPINGS[group_option]])
    labels = list(dict.fromkeys(groups.tolist()))
    blocks = pd.DataFrame(0.0, index=labels, columns=labels)
    for perceivers in labels:
        for experiencers in labels:
            block = matrix[np.ix_(groups == perceivers, groups == experiencers)]
            blocks.loc[perceivers, experiencers] = np.median(block)
    return blocks
