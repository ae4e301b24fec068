# Neighbours from the product of the incidence matrix with its transpose.
import torch
from torch import Tensor


def criss_cross_mask(pairs: Tensor) -> Tensor:
    incidence = torch.zeros(len(pairs), int(pairs.max()) + 1 if len(pairs) else 0)
    incidence.scatter_(1, pairs, 1.0)
    return incidence @ incidence.T > 0
