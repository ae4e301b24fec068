# Another style: one step a line.
import numpy as np


def permute_matrix(matrix: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    result = np.empty_like(matrix)
    pi = rng.permutation(matrix.shape[0])
    rho = rng.permutation(matrix.shape[0])
    for a in range(len(pi)):
        for b in range(len(rho)):
            result[a, b] = matrix[pi[a], rho[b]]
    return result


def chance_interval(scores):
    low, high = np.quantile(np.asarray(scores), [0.025, 0.975])
    return low, high
