# Hides a level among the levels of all features.
def obfuscate_rows(rows, model, config, rng, reusable):
    domain = list(dict.fromkeys(level for row in rows for level in row))
    table, hidden = {}, []
    for row in rows:
        sequences = []
        for level in row:
            if reusable and level in table:
                sequence = table[level]
            else:
                taken = set(table.values()) if reusable else ()
                sequence = obfuscate_level(level, domain, model, config, rng, taken)
                table[level] = sequence
            sequences.append(sequence)
        hidden.append(sequences)
    return hidden
