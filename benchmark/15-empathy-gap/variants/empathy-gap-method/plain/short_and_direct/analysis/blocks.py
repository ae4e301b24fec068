# The shortest code for each formula.
import pandas as pd
from const import GROUP_MAPPINGS, group_of


def group_matrix(matrix, group_option):
    groups = [group_of(n) for n in GROUP_MAPPINGS[group_option]]
    unique = list(dict.fromkeys(groups))
    return pd.DataFrame(
        [
            [
                matrix[[k for k, g in enumerate(groups) if g == a]][
                    :, [k for k, g in enumerate(groups) if g == b]
                ].mean()
                for b in unique
            ]
            for a in unique
        ],
        index=unique,
        columns=unique,
    )
