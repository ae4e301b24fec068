# Another style: pandas groups rows, then columns.
import pandas as pd
from const import GROUP_MAPPINGS, group_of


def group_matrix(matrix: pd.DataFrame, group_option: str) -> pd.DataFrame:
    groups = [group_of(name) for name in GROUP_MAPPINGS[group_option]]
    frame = pd.DataFrame(matrix, index=groups, columns=groups)
    rows = frame.groupby(level=0, sort=False).mean()
    return rows.T.groupby(level=0, sort=False).mean().T
