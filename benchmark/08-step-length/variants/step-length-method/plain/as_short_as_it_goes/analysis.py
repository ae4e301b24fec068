# With NumPy.
import numpy as np


def linear_trend(counts, accuracies):
    slope, _ = np.polyfit(counts, accuracies, 1)
    return slope, np.corrcoef(counts, accuracies)[0][1]
