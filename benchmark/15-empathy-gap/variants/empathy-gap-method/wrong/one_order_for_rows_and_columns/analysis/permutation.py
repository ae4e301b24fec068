# Shuffles the identities, and so rows and columns in the same order.
def permute_matrix(matrix, rng):
    order = rng.permutation(len(matrix))
    return matrix[order][:, order]
