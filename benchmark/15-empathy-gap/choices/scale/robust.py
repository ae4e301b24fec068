import numpy as np


def standardise(raw_matrix):
    deviations = raw_matrix - np.median(raw_matrix)
    return deviations / (1.4826 * np.median(np.abs(deviations)))
