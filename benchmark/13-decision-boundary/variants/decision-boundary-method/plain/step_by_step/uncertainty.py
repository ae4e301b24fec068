# One point after the other.
import math

import numpy as np


def class_probabilities(logits, label_ids):
    rows = []
    for row in logits:
        values = [float(row[i]) for i in label_ids]
        top = max(values)
        weights = [math.exp(value - top) for value in values]
        rows.append([weight / sum(weights) for weight in weights])
    return np.array(rows)


def uncertainty(probabilities):
    return np.array([-sum(p * math.log(p) for p in row if p > 0) for row in probabilities])


def select_points(points, uncertainties, count, spacing):
    chosen = []
    for index in sorted(range(len(points)), key=lambda i: uncertainties[i], reverse=True):
        if len(chosen) >= count:
            break
        if all(math.dist(points[index], points[other]) >= spacing for other in chosen):
            chosen.append(index)
    return np.array(chosen, dtype=np.int64)
