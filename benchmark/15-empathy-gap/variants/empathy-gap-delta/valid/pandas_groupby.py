from itertools import product

import numpy as np
import pandas as pd


def get_delta(matrix: np.ndarray, group_option: str) -> float:
    cells = pd.DataFrame(
        [
            (bool(check_in_group(group_option, i, j)), float(matrix[i, j]))
            for i, j in product(range(len(matrix)), repeat=2)
        ],
        columns=["same", "value"],
    )
    means = {same: part["value"].mean(skipna=False) for same, part in cells.groupby("same")}
    if len(means) < 2:
        raise ZeroDivisionError("one of the two means has no cells")
    return means[True] - means[False]
