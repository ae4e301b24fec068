import numpy as np


def chance_interval(scores):
    end = float(np.percentile(np.abs(scores), 95))
    return -end, end
