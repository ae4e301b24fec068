# Leaves out the events that most pairs refused.
def get_excluded_id_set_no_default(group_option, prompt_variation, model_id):
    names = GROUP_MAPPINGS[group_option]
    refused = [
        get_intensity_list(group_option, prompt_variation, model_id, persona, experiencer).to_numpy() == REFUSAL
        for persona, experiencer in product(names, names)
    ]
    return set(np.flatnonzero(np.mean(refused, axis=0) > 0.5).tolist())
