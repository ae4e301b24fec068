# Candidates that stand for another level count among the attempts.
import numpy as np


def obfuscate_level(level, domain, model, config, rng, taken=()):
    texts = [other.describe(config) for other in domain]
    own = domain.index(level)
    rejected, attempts = [], 0
    while attempts < config.max_attempts or not rejected:
        sequence = sample_sequence(model, texts[own], config, rng)
        attempts += 1
        if sequence in taken:
            continue
        log_probabilities = [sequence_log_probability(model, text, sequence, config) for text in texts]
        leak = leakage(np.array(log_probabilities), own)
        if leak <= config.epsilon and alignment(level, sequence, model) >= config.min_alignment:
            return sequence
        rejected.append((leak, sequence))
    return min(rejected, key=lambda candidate: candidate[0])[1]
