def training_pairs(written):
    return list(written[-1])
