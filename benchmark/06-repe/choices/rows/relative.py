import numpy as np


def pair_differences(states):
    lengths = np.linalg.norm(states, axis=1, keepdims=True)
    return (states[::2] - states[1::2]) / ((lengths[::2] + lengths[1::2]) / 2)
