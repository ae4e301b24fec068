# Takes each symbol as if it were the first.
import numpy as np


def sequence_log_probability(model, text, sequence, config):
    distribution = next_symbol_distribution(model.next_logits(text, ()), config)
    return float(sum(np.log(distribution[symbol]) for symbol in sequence))
