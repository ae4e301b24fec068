# A polynomial of degree one.
import numpy as np


def linear_trend(counts, accuracies) -> tuple[float, float]:
    gain = np.polynomial.Polynomial.fit(counts, accuracies, 1).convert().coef[1]
    return float(gain), float(np.corrcoef(counts, accuracies)[0, 1])
