# Draws from the logits as they are, over the temperature.
import numpy as np


def next_symbol_distribution(logits, config):
    scores = logits / config.temperature
    weights = np.exp(scores - scores.max())
    return weights / weights.sum()
