import numpy as np


def alignment(level, sequence, model):
    return np.mean([model.resemblance(level.value)[s] for s in sequence])


def leakage(log_probabilities, index):
    return max(log_probabilities[index] - log_probabilities)


def obfuscate_level(level, domain, model, config, rng, taken=()):
    best = None
    attempts = 0
    while attempts < config.max_attempts:
        seq = sample_sequence(model, level.describe(config), config, rng)
        if seq in taken:
            continue
        attempts += 1
        logp = np.array([sequence_log_probability(model, x.describe(config), seq, config) for x in domain])
        leak = leakage(logp, domain.index(level))
        if leak <= config.epsilon and alignment(level, seq, model) >= config.min_alignment:
            return seq
        if best is None or leak < best[0]:
            best = (leak, seq)
    return best[1]


def obfuscate_rows(rows, model, config, rng, reusable):
    domains = [list(dict.fromkeys(col)) for col in zip(*rows)]
    table = {}
    out = []
    for row in rows:
        line = []
        for level, domain in zip(row, domains):
            if not reusable:
                line.append(obfuscate_level(level, domain, model, config, rng))
                continue
            if level not in table:
                table[level] = obfuscate_level(level, domain, model, config, rng, set(table.values()))
            line.append(table[level])
        out.append(line)
    return out
