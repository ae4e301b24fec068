# Divides the logarithm by the length of the sequence.
import numpy as np


def sequence_log_probability(model, text, sequence, config):
    total = 0.0
    for position, symbol in enumerate(sequence):
        distribution = next_symbol_distribution(model.next_logits(text, sequence[:position]), config)
        total += float(np.log(distribution[symbol]))
    return total / max(len(sequence), 1)
