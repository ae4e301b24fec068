# Works with log-probabilities throughout, and draws a symbol from their exponentials.
import numpy as np
from scipy.special import log_softmax


def log_distribution(logits, config):
    return log_softmax(np.minimum(np.maximum(logits, -config.clip), config.clip) / config.temperature)


def next_symbol_distribution(logits, config):
    return np.exp(log_distribution(logits, config))


def sequence_log_probability(model, text, sequence, config):
    steps = (log_distribution(model.next_logits(text, sequence[:t]), config)[v] for t, v in enumerate(sequence))
    return float(sum(steps))


def sample_sequence(model, text, config, rng):
    written = []
    while len(written) < config.symbols_per_level:
        weights = next_symbol_distribution(model.next_logits(text, tuple(written)), config)
        written.append(int(rng.choice(weights.size, p=weights)))
    return tuple(written)
