# The formulas, a line each.
import numpy as np
from scipy.special import softmax


def class_probabilities(logits, label_ids):
    return softmax(logits[:, list(label_ids)], axis=1)


def uncertainty(probabilities):
    return -np.sum(probabilities * np.log(probabilities + 1e-300), axis=1)


def select_points(points, uncertainties, count, spacing):
    chosen = []
    for i in np.argsort(uncertainties)[::-1]:
        if all(np.linalg.norm(points[i] - points[j]) >= spacing for j in chosen):
            chosen.append(i)
    return np.array(chosen[:count], dtype=int)
