# The k most uncertain points, wherever they lie.
import numpy as np


def select_points(points, uncertainties, count, spacing):
    return np.argsort(-uncertainties)[:count]
