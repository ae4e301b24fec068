# Log-probabilities, and a matrix of distances from which candidates are struck off.
import numpy as np
from scipy.special import entr, log_softmax
from scipy.spatial.distance import cdist


def class_probabilities(logits, label_ids):
    columns = np.stack([np.asarray(logits, dtype=np.float64)[:, word] for word in label_ids], axis=1)
    return np.exp(log_softmax(columns, axis=1))


def uncertainty(probabilities):
    return entr(probabilities).sum(axis=-1)


def select_points(points, uncertainties, count, spacing):
    near = cdist(points, points) < spacing
    open_points = np.ones(len(points), dtype=bool)
    chosen = []
    while len(chosen) < count and open_points.any():
        best = int(np.where(open_points, uncertainties, -np.inf).argmax())
        chosen.append(best)
        open_points &= ~near[best]
        open_points[best] = False
    return np.asarray(chosen, dtype=np.int64)
