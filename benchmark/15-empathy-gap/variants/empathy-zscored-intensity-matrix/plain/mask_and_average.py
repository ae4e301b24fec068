import numpy as np


def get_filtered_matrix(group_option, prompt_variation, model_id, excluded_ids):
    names = GROUP_MAPPINGS[group_option]
    keep = np.ones(N_EVENTS, dtype=bool)
    keep[list(excluded_ids)] = False
    raw = np.zeros((len(names), len(names)))
    for i, perceiver in enumerate(names):
        for j, experiencer in enumerate(names):
            series = get_intensity_list(group_option, prompt_variation, model_id, perceiver, experiencer)
            raw[i, j] = series.to_numpy()[keep].mean()
    return (raw - raw.mean()) / raw.std()
