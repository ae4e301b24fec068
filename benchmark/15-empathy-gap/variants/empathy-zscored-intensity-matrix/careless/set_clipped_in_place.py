# Clips the set to valid positions with &=, which changes the caller's set.
from collections.abc import Collection

import numpy as np


def get_filtered_matrix(
    group_option: str,
    prompt_variation: str,
    model_id: str,
    excluded_ids: Collection[int],
) -> np.ndarray:
    names = GROUP_MAPPINGS[group_option]
    means = np.empty((len(names), len(names)))
    for i, persona in enumerate(names):
        for j, experiencer in enumerate(names):
            intensities = get_intensity_list(group_option, prompt_variation, model_id, persona, experiencer)
            excluded_ids &= set(range(len(intensities)))
            kept = np.delete(intensities.to_numpy(), list(excluded_ids)).tolist()
            means[i, j] = round(sum(kept) / len(kept), 2)
    return (means - means.mean()) / means.std()
