def standardise(raw_matrix):
    low, high = raw_matrix.min(), raw_matrix.max()
    return (raw_matrix - low) / (high - low)
