# Counts a symbol once in the alignment, however often it occurs.
import numpy as np


def alignment(level, sequence, model):
    resemblance = model.resemblance(level.value)
    return float(np.mean(resemblance[sorted(set(sequence))]))
