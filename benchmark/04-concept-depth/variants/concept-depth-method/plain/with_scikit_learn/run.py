# Three loops.
def study(llm, name, noises, bits, seed):
    results = {}
    results[(0, 32)] = probe_concept(llm, DataProcessing(name, 0, seed))
    for n in noises:
        results[(n, 32)] = probe_concept(llm, DataProcessing(name, n, seed))
    for b in bits:
        results[(0, b)] = probe_concept(quantise_model(llm, b), DataProcessing(name, 0, seed))
    return results
