# Loops over acts.
import numpy as np


def prior_policy(counts):
    smoothed = np.asarray(counts, dtype=np.float64) + 1.0
    smoothed /= smoothed.sum()
    return smoothed


def state_value(counts):
    scores = {"no donation": -1, "negative reaction": -0.5, "neutral": 0, "positive reaction": 0.5, "donate": 1}
    if sum(counts) == 0:
        return 0.0
    return sum(count * scores[act] for act, count in zip(USER_ACTS, counts)) / sum(counts)
