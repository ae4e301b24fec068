# Puts perceivers in columns.
def get_filtered_matrix(group_option, prompt_variation, model_id, excluded_ids):
    names = GROUP_MAPPINGS[group_option]
    raw_matrix = np.empty((len(names), len(names)))
    for i, persona in enumerate(names):
        for j, experiencer in enumerate(names):
            intensities = get_intensity_list(group_option, prompt_variation, model_id, persona, experiencer)
            raw_matrix[j, i] = pair_intensity(intensities, excluded_ids)
    return standardise(raw_matrix)
