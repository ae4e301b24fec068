# Compares embeddings of any length.
from torch import Tensor


def cost_matrix(vectors: Tensor) -> Tensor:
    return (vectors.unsqueeze(1) - vectors).square().sum(-1)
