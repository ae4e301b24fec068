# Asks for the ratio only.
import numpy as np


def massive_mask(magnitudes):
    return magnitudes > 1000.0 * np.median(magnitudes)
