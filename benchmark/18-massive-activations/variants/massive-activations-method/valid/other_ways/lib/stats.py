# Compares ratios in one expression of the larger limit.
import numpy as np


def massive_mask(magnitudes):
    limit = max(100.0, 1000.0 * float(np.median(magnitudes)))
    return np.greater(magnitudes, limit)
