# Leaves out symbols that the sequence has already.
def sample_sequence(model, text, config, rng):
    sequence = ()
    for _ in range(config.symbols_per_level):
        distribution = next_symbol_distribution(model.next_logits(text, sequence), config)
        distribution[list(sequence)] = 0
        distribution /= distribution.sum()
        sequence += (int(rng.choice(len(distribution), p=distribution)),)
    return sequence
