import numpy as np


def action_weights(visits, values):
    return visits * np.exp(values)
