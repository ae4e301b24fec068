# Compares with the mean magnitude.
import numpy as np


def massive_mask(magnitudes):
    return (magnitudes > 100.0) & (magnitudes > 1000.0 * np.mean(magnitudes))
