# Takes both means from sums, with the out-group as what the in-group leaves.
import math


def gap_score(in_group, out_group) -> float:
    return math.fsum(in_group) / len(in_group) - math.fsum(out_group) / len(out_group)


def get_delta(matrix: np.ndarray, group_option: str) -> float:
    n = len(matrix)
    pairs = [(i, j) for i in range(n) for j in range(n)]
    in_group = [float(matrix[pair]) for pair in pairs if check_in_group(group_option, *pair)]
    total, total_inside = float(matrix.sum()), math.fsum(in_group)
    return total_inside / len(in_group) - (total - total_inside) / (n * n - len(in_group))


def get_interval(matrix, group_option, n_permutations=10_000, seed=0):
    generator = np.random.default_rng(seed)
    deltas = np.empty(n_permutations)
    for number in range(n_permutations):
        deltas[number] = get_delta(permute_matrix(matrix, generator), group_option)
    return chance_interval(deltas.tolist())
