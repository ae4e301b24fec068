# Averages the vectors of the words inside without weights.
from torch import Tensor


def ngram_vectors(vectors: Tensor, weights: Tensor, n: int) -> Tensor:
    return vectors.unfold(0, n, 1).mean(2)
