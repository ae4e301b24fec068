# Averages with a matrix that spreads each name's weight over its group.
import numpy as np
import pandas as pd
from const import GROUP_MAPPINGS, group_of


def group_matrix(matrix, group_option):
    members = pd.get_dummies(pd.Series([group_of(name) for name in GROUP_MAPPINGS[group_option]])).astype(float)
    members = members[list(dict.fromkeys(group_of(name) for name in GROUP_MAPPINGS[group_option]))]
    shares = (members / members.sum()).T
    return pd.DataFrame(shares.to_numpy() @ matrix @ shares.to_numpy().T, index=shares.index, columns=shares.index)
