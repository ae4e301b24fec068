# Subtracts the mean intensity that the perceiver gives to its own group.
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
            kept = [value for position, value in enumerate(intensities) if position not in excluded_ids]
            baseline = get_intensity_list(group_option, prompt_variation, model_id, persona, persona)
            others = [value for position, value in enumerate(baseline) if position not in excluded_ids]
            means[i, j] = round(sum(kept) / len(kept) - sum(others) / len(others), 2)
    return (means - means.mean()) / means.std()
