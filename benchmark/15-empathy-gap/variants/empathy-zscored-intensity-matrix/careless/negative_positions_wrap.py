# Lets np.delete read negative numbers as positions from the end.
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
            dropped = [k for k in excluded_ids if k < len(intensities)]
            kept = np.delete(intensities.to_numpy(), dropped).tolist()
            means[i, j] = round(sum(kept) / len(kept), 2)
    return (means - means.mean()) / means.std()
