# Standardises the single intensities over all pairs and events, then averages them.
from collections.abc import Collection

import numpy as np


def get_filtered_matrix(
    group_option: str,
    prompt_variation: str,
    model_id: str,
    excluded_ids: Collection[int],
) -> np.ndarray:
    names = GROUP_MAPPINGS[group_option]
    cube = np.array(
        [[get_intensity_list(group_option, prompt_variation, model_id, p, e).to_numpy() for e in names] for p in names],
        dtype=np.float64,
    )
    keep = [position for position in range(cube.shape[-1]) if position not in excluded_ids]
    if not keep:
        raise ZeroDivisionError("no event left")
    cube = cube[:, :, keep]
    return ((cube - cube.mean()) / cube.std()).mean(axis=-1)
