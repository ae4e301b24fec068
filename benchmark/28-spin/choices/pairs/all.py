def training_pairs(written):
    return [pair for pairs in written for pair in pairs]
