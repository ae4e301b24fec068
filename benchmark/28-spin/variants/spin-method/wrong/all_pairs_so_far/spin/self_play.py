# Trains on the pairs of all opponents so far.
def training_pairs(written):
    return [pair for pairs in written for pair in pairs]
