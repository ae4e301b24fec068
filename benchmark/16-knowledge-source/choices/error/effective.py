import numpy as np


def standard_error(rates, sizes):
    variance = np.average((rates - np.average(rates, weights=sizes)) ** 2, weights=sizes)
    groups = np.sum(sizes) ** 2 / np.sum(sizes**2)
    return float(np.sqrt(variance / groups))
