from collections.abc import Collection

import numpy as np


def get_filtered_matrix(
    group_option: str,
    prompt_variation: str,
    model_id: str,
    excluded_ids: Collection[int],
) -> np.ndarray:
    names = GROUP_MAPPINGS[group_option]
    keep = None
    raw = np.zeros((len(names), len(names)), dtype=np.float64)
    for row, perceiver in enumerate(names):
        for column, experiencer in enumerate(names):
            values = get_intensity_list(group_option, prompt_variation, model_id, perceiver, experiencer).to_numpy()
            if keep is None:
                keep = np.array([position not in excluded_ids for position in range(len(values))])
                if not keep.any():
                    raise ZeroDivisionError("every event is excluded")
            raw[row, column] = round(float(values[keep].mean()), 2)
    deviations = raw - np.mean(raw)
    return deviations / np.sqrt(np.mean(deviations**2))
