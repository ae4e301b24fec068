import numpy as np


def chance_interval(scores):
    middle, deviation = np.mean(scores), np.std(scores)
    return float(middle - 1.96 * deviation), float(middle + 1.96 * deviation)
