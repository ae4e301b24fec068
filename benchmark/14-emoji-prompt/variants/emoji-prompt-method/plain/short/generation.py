import numpy as np


def next_symbol_distribution(logits, config):
    e = np.exp(np.clip(logits, -config.clip, config.clip) / config.temperature)
    return e / e.sum()


def sequence_log_probability(model, text, sequence, config):
    logp = 0.0
    for t in range(len(sequence)):
        p = next_symbol_distribution(model.next_logits(text, sequence[:t]), config)
        logp += np.log(p[sequence[t]])
    return logp


def sample_sequence(model, text, config, rng):
    seq = []
    for _ in range(config.symbols_per_level):
        p = next_symbol_distribution(model.next_logits(text, seq), config)
        seq.append(int(rng.choice(len(p), p=p)))
    return tuple(seq)
