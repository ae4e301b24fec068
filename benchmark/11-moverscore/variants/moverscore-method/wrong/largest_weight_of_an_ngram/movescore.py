# Takes the weight of an n-gram from its rarest word.
from torch import Tensor


def ngram_weights(weights: Tensor, n: int) -> Tensor:
    return weights.unfold(0, n, 1).amax(1)
