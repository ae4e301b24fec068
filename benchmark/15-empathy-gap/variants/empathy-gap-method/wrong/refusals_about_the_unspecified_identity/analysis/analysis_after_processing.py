# Counts refusals in queries with the unspecified identity, too.
def get_excluded_id_set_no_default(group_option, prompt_variation, model_id):
    names = (UNSPECIFIED, *GROUP_MAPPINGS[group_option])
    excluded = set()
    for persona, experiencer in product(names, names):
        refused = get_intensity_list(group_option, prompt_variation, model_id, persona, experiencer) == REFUSAL
        excluded.update(np.flatnonzero(refused).tolist())
    return excluded
