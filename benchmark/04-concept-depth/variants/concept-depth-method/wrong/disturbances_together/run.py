# Puts the noise on the models of low precision, too.
def study(llm, name, noises, bits, seed):
    return {
        (noise, precision): probe_concept(quantise_model(llm, precision), DataProcessing(name, noise, seed))
        for noise in (0, *noises)
        for precision in (32, *bits)
    }
