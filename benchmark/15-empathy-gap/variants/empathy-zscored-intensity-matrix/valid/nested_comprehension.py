import statistics
from collections.abc import Collection

import numpy as np


def get_filtered_matrix(
    group_option: str,
    prompt_variation: str,
    model_id: str,
    excluded_ids: Collection[int],
) -> np.ndarray:
    def cell(persona: str, experiencer: str) -> float:
        series = get_intensity_list(
            group_option=group_option,
            prompt_variation=prompt_variation,
            model_id=model_id,
            persona=persona,
            experiencer=experiencer,
        )
        kept = [int(series.iloc[k]) for k in range(len(series)) if k not in excluded_ids]
        return round(sum(kept) / len(kept), 2)

    names = GROUP_MAPPINGS[group_option]
    rows = [[cell(persona, experiencer) for experiencer in names] for persona in names]
    flat = [value for row in rows for value in row]
    centre, spread = statistics.fmean(flat), statistics.pstdev(flat)
    if spread == 0:
        return np.full((len(names), len(names)), np.nan)
    return np.array([[(value - centre) / spread for value in row] for row in rows])
