# The shortest code for each formula.
import numpy as np


def permute_matrix(matrix, rng):
    n = len(matrix)
    p = rng.permutation(n)
    q = rng.permutation(n)
    return matrix[p, :][:, q]


def chance_interval(scores):
    return np.percentile(scores, 2.5), np.percentile(scores, 97.5)
