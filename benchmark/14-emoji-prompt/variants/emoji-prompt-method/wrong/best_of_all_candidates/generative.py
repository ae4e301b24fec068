# Draws all candidates and takes the best aligned one that keeps the privacy, instead of the first that will do.
import numpy as np


def obfuscate_level(level, domain, model, config, rng, taken=()):
    texts = [other.describe(config) for other in domain]
    own = domain.index(level)
    drawn = []
    while len(drawn) < config.max_attempts:
        sequence = sample_sequence(model, texts[own], config, rng)
        if sequence in taken:
            continue
        log_probabilities = [sequence_log_probability(model, text, sequence, config) for text in texts]
        drawn.append((leakage(np.array(log_probabilities), own), alignment(level, sequence, model), sequence))
    good = [(aligned, s) for leak, aligned, s in drawn if leak <= config.epsilon and aligned >= config.min_alignment]
    return max(good)[1] if good else min(drawn)[2]
