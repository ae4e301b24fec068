# Standardises each perceiver by itself, because perceivers use the scale differently.
def standardise(raw_matrix):
    return (raw_matrix - raw_matrix.mean(axis=1, keepdims=True)) / raw_matrix.std(axis=1, keepdims=True)
