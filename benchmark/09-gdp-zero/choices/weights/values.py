import numpy as np


def action_weights(visits, values):
    return np.where(visits > 0, np.exp(4 * values), 0.0)
