# As the definition says.
import numpy as np


def massive_mask(magnitudes):
    return (magnitudes > 100) & (magnitudes > 1000 * np.median(magnitudes))
