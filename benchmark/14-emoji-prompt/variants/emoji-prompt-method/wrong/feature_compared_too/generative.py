# Compares the names with the feature and its value.
import numpy as np


def alignment(level, sequence, model):
    resemblance = model.resemblance(f"{level.feature} {level.value}")
    return float(np.mean(resemblance[list(sequence)]))
