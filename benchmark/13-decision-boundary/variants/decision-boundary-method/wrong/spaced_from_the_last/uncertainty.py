# Compares each point with the one that was taken last, and not with all that were taken.
import numpy as np


def select_points(points, uncertainties, count, spacing):
    chosen = []
    for index in np.argsort(-uncertainties):
        if len(chosen) < count and (not chosen or np.linalg.norm(points[index] - points[chosen[-1]]) >= spacing):
            chosen.append(int(index))
    return np.array(chosen, dtype=np.int64)
