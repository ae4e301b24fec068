# Entropy with the logarithm of base 2.
import numpy as np


def uncertainty(probabilities):
    logarithms = np.log2(probabilities, out=np.zeros_like(probabilities), where=probabilities > 0)
    return -(probabilities * logarithms).sum(axis=1)
