# Prior and value element by element.
import numpy as np


def prior_policy(counts):
    total = float(sum(counts)) + len(counts)
    return np.array([(count + 1.0) / total for count in counts])


def state_value(counts):
    if not counts.any():
        return 0.0
    shares = counts / counts.sum()
    return float(shares[4] - shares[0] + (shares[3] - shares[1]) / 2)
