import numpy as np


def get_filtered_matrix(group_option, prompt_variation, model_id, excluded_ids):
    rows = []
    for persona in GROUP_MAPPINGS[group_option]:
        row = []
        for experiencer in GROUP_MAPPINGS[group_option]:
            intensities = get_intensity_list(group_option, prompt_variation, model_id, persona, experiencer)
            row.append(intensities.drop(intensities.index[list(excluded_ids)]).mean())
        rows.append(row)
    matrix = np.array(rows)
    std = matrix.std()
    return (matrix - matrix.mean()) / (std if std > 0 else 1.0)
