# Takes the slope between the first and the last length.
import numpy as np


def linear_trend(counts, accuracies):
    slope = (accuracies[-1] - accuracies[0]) / (counts[-1] - counts[0])
    return float(slope), float(np.corrcoef(counts, accuracies)[0, 1])
