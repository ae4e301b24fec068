# Limit and score in one line each.
import numpy as np


def realization_limit(visits, constant):
    return constant


def wording_score(values):
    return float(np.mean(values))
