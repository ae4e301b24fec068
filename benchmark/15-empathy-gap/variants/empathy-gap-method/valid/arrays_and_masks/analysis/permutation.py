# Indexes rows and columns at once, and sorts the scores.
import math

import numpy as np


def permute_matrix(matrix, rng):
    n = len(matrix)
    rows = rng.permutation(n)
    return matrix[np.ix_(rows, rng.permutation(n))]


def chance_interval(scores):
    ordered = sorted(scores)

    def percentile(share):
        place = share * (len(ordered) - 1)
        below = math.floor(place)
        above = min(below + 1, len(ordered) - 1)
        return ordered[below] + (place - below) * (ordered[above] - ordered[below])

    return percentile(0.025), percentile(0.975)
