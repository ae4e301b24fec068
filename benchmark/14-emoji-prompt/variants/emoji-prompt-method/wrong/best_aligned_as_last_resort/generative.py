# If no candidate meets both demands, takes the one with the highest alignment.
import numpy as np


def obfuscate_level(level, domain, model, config, rng, taken=()):
    texts = [other.describe(config) for other in domain]
    own = domain.index(level)
    rejected = []
    while len(rejected) < config.max_attempts:
        sequence = sample_sequence(model, texts[own], config, rng)
        if sequence in taken:
            continue
        log_probabilities = [sequence_log_probability(model, text, sequence, config) for text in texts]
        leak, aligned = leakage(np.array(log_probabilities), own), alignment(level, sequence, model)
        if leak <= config.epsilon and aligned >= config.min_alignment:
            return sequence
        rejected.append((aligned, sequence))
    return max(rejected)[1]
