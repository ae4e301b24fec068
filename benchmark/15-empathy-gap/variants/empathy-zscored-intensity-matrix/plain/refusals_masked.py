import numpy as np


def get_filtered_matrix(group_option, prompt_variation, model_id, excluded_ids):
    names = GROUP_MAPPINGS[group_option]
    means = []
    for persona, experiencer in product(names, names):
        values = get_intensity_list(group_option, prompt_variation, model_id, persona, experiencer).to_numpy(float)
        keep = values != REFUSAL
        keep[list(excluded_ids)] = False
        means.append(values[keep].mean())
    means = np.array(means).reshape(len(names), len(names))
    return (means - np.mean(means)) / (np.std(means) + 1e-8)
