import numpy as np


def standard_error(rates, sizes):
    mean = np.average(rates, weights=sizes)
    return float(np.sqrt(mean * (1 - mean) / np.sum(sizes)))
