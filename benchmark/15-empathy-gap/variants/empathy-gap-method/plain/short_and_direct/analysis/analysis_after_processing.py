# The shortest code for each formula.
def get_excluded_id_set_no_default(group_option, prompt_variation, model_id):
    out = set()
    for p in GROUP_MAPPINGS[group_option]:
        for e in GROUP_MAPPINGS[group_option]:
            x = get_intensity_list(group_option, prompt_variation, model_id, p, e).to_numpy()
            out |= set(np.where(x == REFUSAL)[0])
    return out


def pair_intensity(intensities, excluded_ids):
    kept = [x for k, x in enumerate(intensities) if k not in excluded_ids]
    return round(np.mean(kept), 2)


def standardise(raw_matrix):
    return (raw_matrix - np.mean(raw_matrix)) / np.std(raw_matrix)


def get_filtered_matrix(group_option, prompt_variation, model_id, excluded_ids):
    names = GROUP_MAPPINGS[group_option]
    return standardise(
        np.array(
            [
                [
                    pair_intensity(get_intensity_list(group_option, prompt_variation, model_id, p, e), excluded_ids)
                    for e in names
                ]
                for p in names
            ]
        )
    )


def check_in_group(group_option, i, j):
    names = GROUP_MAPPINGS[group_option]
    return group_of(names[i]) == group_of(names[j])


def gap_score(in_group, out_group):
    return np.mean(in_group) - np.mean(out_group)


def get_delta(matrix, group_option):
    a, b = [], []
    for i in range(len(matrix)):
        for j in range(len(matrix)):
            (a if check_in_group(group_option, i, j) else b).append(matrix[i, j])
    return gap_score(a, b)


def get_interval(matrix, group_option, n_permutations=10_000, seed=0):
    rng = np.random.default_rng(seed)
    return chance_interval([get_delta(permute_matrix(matrix, rng), group_option) for _ in range(n_permutations)])


def analyse(group_option, prompt_variation, model_id, n_permutations=10_000):
    ids = get_excluded_id_set_no_default(group_option, prompt_variation, model_id)
    m = get_filtered_matrix(group_option, prompt_variation, model_id, ids)
    interval = get_interval(m, group_option, n_permutations)
    return EmpathyGap(label_matrix(m, group_option), get_delta(m, group_option), interval, len(ids))
