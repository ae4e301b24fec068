# Takes the largest absolute difference for the leakage.
import numpy as np


def leakage(log_probabilities, index):
    return float(np.max(np.abs(log_probabilities - log_probabilities[index])))
