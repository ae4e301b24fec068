# Least confidence in place of entropy.
def uncertainty(probabilities):
    return 1 - probabilities.max(axis=1)
