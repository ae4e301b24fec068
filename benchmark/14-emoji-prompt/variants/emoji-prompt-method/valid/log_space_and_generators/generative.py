# A generator of candidates, and a table that is filled while the rows are read.
from itertools import islice

import numpy as np


def candidates(text, model, config, rng, taken):
    while True:
        sequence = sample_sequence(model, text, config, rng)
        if sequence not in taken:
            yield sequence


def obfuscate_level(level, domain, model, config, rng, taken=()):
    least, fallback = np.inf, None
    text = level.describe(config)
    for sequence in islice(candidates(text, model, config, rng, taken), config.max_attempts):
        own = sequence_log_probability(model, text, sequence, config)
        others = [sequence_log_probability(model, x.describe(config), sequence, config) for x in domain if x != level]
        leak = max([0.0, *(own - other for other in others)])
        if leak <= config.epsilon and alignment(level, sequence, model) >= config.min_alignment:
            return sequence
        if leak < least:
            least, fallback = leak, sequence
    return fallback


def alignment(level, sequence, model):
    scores = model.resemblance(level.value)
    return sum(float(scores[symbol]) for symbol in sequence) / len(sequence)


def leakage(log_probabilities, index):
    return float(max(log_probabilities[index] - other for other in log_probabilities))


def obfuscate_rows(rows, model, config, rng, reusable):
    domains = [sorted(set(row[column] for row in rows)) for column in range(len(rows[0]))]
    known = {}

    def sequence_of(level, domain):
        if not reusable:
            return obfuscate_level(level, domain, model, config, rng)
        if level not in known:
            known[level] = obfuscate_level(level, domain, model, config, rng, list(known.values()))
        return known[level]

    return [[sequence_of(level, domain) for level, domain in zip(row, domains)] for row in rows]
