# Divides by the temperature first and clips then.
import numpy as np


def next_symbol_distribution(logits, config):
    scores = np.clip(logits / config.temperature, -config.clip, config.clip)
    weights = np.exp(scores - scores.max())
    return weights / weights.sum()
