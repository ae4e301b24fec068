# Takes the plain frequencies of the answers.
import numpy as np


def prior_policy(counts):
    total = counts.sum()
    return counts / total if total > 0 else np.full(len(counts), 1 / len(counts))
