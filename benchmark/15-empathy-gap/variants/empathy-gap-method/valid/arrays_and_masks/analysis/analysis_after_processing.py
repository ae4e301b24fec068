# Reads all files into one array first, and selects cells by a mask of the whole category.
def _cube(group_option, prompt_variation, model_id):
    """Intensities of all pairs: (n, n, events)."""
    names = GROUP_MAPPINGS[group_option]
    rows = [
        [
            get_intensity_list(group_option, prompt_variation, model_id, persona, experiencer).to_numpy()
            for experiencer in names
        ]
        for persona in names
    ]
    return np.array(rows)


def get_excluded_id_set_no_default(group_option: str, prompt_variation: str, model_id: str) -> set[int]:
    refused = (_cube(group_option, prompt_variation, model_id) == REFUSAL).any(axis=(0, 1))
    return {int(position) for position in refused.nonzero()[0]}


def pair_intensity(intensities: pd.Series, excluded_ids: Collection[int]) -> float:
    keep = ~np.isin(np.arange(len(intensities)), list(excluded_ids))
    return float(np.round(intensities.to_numpy()[keep].mean(), 2))


def standardise(raw_matrix: np.ndarray) -> np.ndarray:
    centred = raw_matrix - raw_matrix.sum() / raw_matrix.size
    return centred / np.sqrt((centred**2).sum() / raw_matrix.size)


def get_filtered_matrix(group_option, prompt_variation, model_id, excluded_ids):
    cube = _cube(group_option, prompt_variation, model_id)
    n = len(cube)
    cells = [pair_intensity(pd.Series(events), excluded_ids) for events in cube.reshape(n * n, -1)]
    return standardise(np.array(cells).reshape(n, n))


def check_in_group(group_option: str, i: int, j: int) -> bool:
    first, second = (group_of(GROUP_MAPPINGS[group_option][position]) for position in (i, j))
    return first == second


def _same(n, group_option):
    return np.array([[check_in_group(group_option, i, j) for j in range(n)] for i in range(n)])


def gap_score(in_group, out_group) -> float:
    return float(np.mean(in_group) - np.mean(out_group))


def get_delta(matrix: np.ndarray, group_option: str) -> float:
    same = _same(len(matrix), group_option)
    return gap_score(matrix[same], matrix[~same])


def get_interval(matrix, group_option, n_permutations=10_000, seed=0):
    rng = np.random.default_rng(seed)
    same = _same(len(matrix), group_option)
    permuted = np.stack([permute_matrix(matrix, rng) for _ in range(n_permutations)])
    return chance_interval([gap_score(cells[same], cells[~same]) for cells in permuted])
