# Trains on the pairs of the present opponent alone.
def training_pairs(written):
    return list(written[-1])
