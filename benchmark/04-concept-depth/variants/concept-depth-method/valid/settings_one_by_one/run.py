# Builds the table setting after setting.
def study(llm, name, noises, bits, seed):
    table = {(0, 32): probe_concept(llm, DataProcessing(name, seed=seed))}
    for noise in noises:
        table[noise, 32] = probe_concept(llm, DataProcessing(name, noise=noise, seed=seed))
    for precision in bits:
        table[0, precision] = probe_concept(quantise_model(llm, precision), DataProcessing(name, seed=seed))
    return table
