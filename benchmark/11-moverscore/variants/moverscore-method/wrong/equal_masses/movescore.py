# Gives all n-grams of a text the same mass.
import torch
from emd import emd
from torch import Tensor


def text_distance(ref_vectors: Tensor, ref_weights: Tensor, hyp_vectors: Tensor, hyp_weights: Tensor) -> float:
    cost = cost_matrix(torch.cat([ref_vectors, hyp_vectors]))
    masses = [torch.full_like(weights, 1 / len(weights)) for weights in (ref_weights, hyp_weights)]
    return emd(*torch.block_diag(*masses), cost)
