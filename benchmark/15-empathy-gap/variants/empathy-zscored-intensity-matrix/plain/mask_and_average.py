import numpy as np


def get_filtered_matrix(group_option, prompt_variation, model_id, excluded_ids):
    names = GROUP_MAPPINGS[group_option]
    keep = [k for k in range(N_EVENTS) if k not in excluded_ids]
    raw = np.zeros((len(names), len(names)))
    for i, perceiver in enumerate(names):
        for j, experiencer in enumerate(names):
            series = get_intensity_list(group_option, prompt_variation, model_id, perceiver, experiencer)
            values = series.to_numpy()
            raw[i, j] = values[[k for k in keep if k < len(values)]].mean()
    return (raw - raw.mean()) / raw.std()
