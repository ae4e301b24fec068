# Takes the second member of a pair minus the first.
import numpy as np


def pair_differences(states):
    differences = states[1::2] - states[::2]
    return differences / np.linalg.norm(differences, axis=1, keepdims=True)
