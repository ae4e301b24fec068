# Compares with the mean over the levels, not with the least likely one.
import numpy as np


def leakage(log_probabilities, index):
    return float(log_probabilities[index] - np.mean(log_probabilities))
