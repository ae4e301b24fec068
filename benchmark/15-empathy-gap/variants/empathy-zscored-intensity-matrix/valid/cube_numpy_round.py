from collections.abc import Collection

import numpy as np


def get_filtered_matrix(
    group_option: str,
    prompt_variation: str,
    model_id: str,
    excluded_ids: Collection[int],
) -> np.ndarray:
    names = list(GROUP_MAPPINGS[group_option])
    cube = np.array(
        [[get_intensity_list(group_option, prompt_variation, model_id, p, e).to_numpy() for e in names] for p in names],
        dtype=np.float64,
    )
    n_events = cube.shape[-1]
    dropped = [k for k in excluded_ids if 0 <= k < n_events]
    cube = np.delete(cube, dropped, axis=-1)
    if cube.shape[-1] == 0:
        raise ZeroDivisionError("no event left")
    means = np.round(cube.mean(axis=-1), 2)
    return (means - means.mean()) / means.std(ddof=0)
