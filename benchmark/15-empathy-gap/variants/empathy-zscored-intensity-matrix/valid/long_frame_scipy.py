from collections.abc import Collection

import numpy as np
import pandas as pd
from scipy.stats import zscore


def get_filtered_matrix(
    group_option: str,
    prompt_variation: str,
    model_id: str,
    excluded_ids: Collection[int],
) -> np.ndarray:
    names = list(GROUP_MAPPINGS[group_option])
    columns = {
        (persona, experiencer): get_intensity_list(
            group_option, prompt_variation, model_id, persona, experiencer
        ).reset_index(drop=True)
        for persona in names
        for experiencer in names
    }
    table = pd.DataFrame(columns)
    table = table[~table.index.isin(list(excluded_ids))]
    if table.empty:
        raise ZeroDivisionError("no event left")
    means = table.mean().round(2).unstack().loc[names, names]
    return zscore(means.to_numpy(dtype=np.float64), axis=None)
