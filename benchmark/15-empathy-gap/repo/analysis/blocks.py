"""The matrix of a category, summed up for its groups."""

import numpy as np
import pandas as pd
from const import GROUP_MAPPINGS, group_of


def group_matrix(matrix: np.ndarray, group_option: str) -> pd.DataFrame:
    """B of the paper: how each group sees each group.

    Args:
        matrix: float array (n, n) of a category; one row a perceiver, one column an experiencer, both in the order of
            `GROUP_MAPPINGS[group_option]`. It is not changed.
        group_option: category, a key of `GROUP_MAPPINGS`.

    Returns:
        Square frame with the groups of the category, as `group_of` names them, in index (perceivers) and columns
        (experiencers), both in the order of their first names.
    """
    groups = np.array([group_of(name) for name in GROUP_MAPPINGS[group_option]])
    labels = list(dict.fromkeys(groups.tolist()))
    blocks = pd.DataFrame(0.0, index=labels, columns=labels)
    for perceivers in labels:
        for experiencers in labels:
            block = matrix[np.ix_(groups == perceivers, groups == experiencers)]
            blocks.loc[perceivers, experiencers] = block.mean()
    return blocks
