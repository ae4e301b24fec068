# Finds the refused events but averages all of them.
def analyse(group_option, prompt_variation, model_id, n_permutations=10_000):
    excluded = get_excluded_id_set_no_default(group_option, prompt_variation, model_id)
    matrix = get_filtered_matrix(group_option, prompt_variation, model_id, set())
    return EmpathyGap(
        matrix=label_matrix(matrix, group_option),
        delta=float(get_delta(matrix, group_option)),
        interval=get_interval(matrix, group_option, n_permutations),
        n_excluded=len(excluded),
    )
