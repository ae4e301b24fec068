# Divides by the deviation of a sample.
def standardise(raw_matrix):
    return (raw_matrix - raw_matrix.mean()) / raw_matrix.std(ddof=1)
