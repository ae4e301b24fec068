# Keeps sequences apart within a feature only.
def obfuscate_rows(rows, model, config, rng, reusable):
    domains = [list(dict.fromkeys(column)) for column in zip(*rows)]
    table, hidden = {}, []
    for row in rows:
        sequences = []
        for level, domain in zip(row, domains):
            if reusable and level in table:
                sequence = table[level]
            else:
                taken = {s for other, s in table.items() if other.feature == level.feature} if reusable else ()
                sequence = obfuscate_level(level, domain, model, config, rng, taken)
                table[level] = sequence
            sequences.append(sequence)
        hidden.append(sequences)
    return hidden
