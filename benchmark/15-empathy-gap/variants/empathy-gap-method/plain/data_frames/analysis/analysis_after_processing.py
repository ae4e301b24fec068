# Another style: pandas where it fits.
def get_excluded_id_set_no_default(group_option: str, prompt_variation: str, model_id: str) -> set[int]:
    refused = None
    for persona, experiencer in product(GROUP_MAPPINGS[group_option], repeat=2):
        values = get_intensity_list(group_option, prompt_variation, model_id, persona, experiencer).reset_index(
            drop=True
        )
        mask = values == REFUSAL
        refused = mask if refused is None else refused | mask
    return set(refused.index[refused])


def pair_intensity(intensities: pd.Series, excluded_ids: Collection[int]) -> float:
    by_position = intensities.reset_index(drop=True)
    remaining = by_position.drop([position for position in excluded_ids])
    return round(float(remaining.mean()), 2)


def standardise(raw_matrix: np.ndarray) -> np.ndarray:
    mu = raw_matrix.mean()
    sigma = np.sqrt(((raw_matrix - mu) ** 2).mean())
    return (raw_matrix - mu) / sigma


def get_filtered_matrix(
    group_option: str, prompt_variation: str, model_id: str, excluded_ids: Collection[int]
) -> np.ndarray:
    names = list(GROUP_MAPPINGS[group_option])
    frame = pd.DataFrame(index=names, columns=names, dtype=float)
    for perceiver in names:
        for experiencer in names:
            values = get_intensity_list(group_option, prompt_variation, model_id, perceiver, experiencer)
            frame.loc[perceiver, experiencer] = pair_intensity(values, excluded_ids)
    return standardise(frame.to_numpy())


def check_in_group(group_option: str, i: int, j: int) -> bool:
    if i == j:
        return True
    names = GROUP_MAPPINGS[group_option]
    return group_of(names[i]) == group_of(names[j])


def gap_score(in_group: Sequence[float], out_group: Sequence[float]) -> float:
    return float(pd.Series(in_group).mean() - pd.Series(out_group).mean())


def get_delta(matrix: np.ndarray, group_option: str) -> float:
    n = matrix.shape[0]
    mask = np.zeros((n, n), dtype=bool)
    for i, j in product(range(n), range(n)):
        mask[i, j] = check_in_group(group_option, i, j)
    return gap_score(list(matrix[mask]), list(matrix[~mask]))


def get_interval(
    matrix: np.ndarray, group_option: str, n_permutations: int = 10_000, seed: int = 0
) -> tuple[float, float]:
    rng = np.random.default_rng(seed)
    scores = []
    for _ in range(n_permutations):
        scores.append(get_delta(permute_matrix(matrix, rng), group_option))
    return chance_interval(scores)


def analyse(group_option: str, prompt_variation: str, model_id: str, n_permutations: int = 10_000) -> EmpathyGap:
    excluded_ids = get_excluded_id_set_no_default(group_option, prompt_variation, model_id)
    matrix = get_filtered_matrix(group_option, prompt_variation, model_id, excluded_ids)
    return EmpathyGap(
        matrix=label_matrix(matrix, group_option),
        delta=get_delta(matrix, group_option),
        interval=get_interval(matrix, group_option, n_permutations=n_permutations),
        n_excluded=len(excluded_ids),
    )
