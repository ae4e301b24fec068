# Correlates ranks instead of the numbers.
import numpy as np
from scipy.stats import spearmanr


def linear_trend(counts, accuracies):
    return float(np.polyfit(counts, accuracies, 1)[0]), float(spearmanr(counts, accuracies)[0])
