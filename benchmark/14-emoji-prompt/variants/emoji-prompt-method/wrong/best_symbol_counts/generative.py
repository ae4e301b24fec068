# Takes the alignment of the symbol that resembles the value most.
def alignment(level, sequence, model):
    return float(model.resemblance(level.value)[list(sequence)].max())
