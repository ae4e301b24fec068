# Takes the Euclidean distance itself.
import torch
from torch import Tensor


def cost_matrix(vectors: Tensor) -> Tensor:
    rows = torch.nn.functional.normalize(vectors, dim=1)
    return (rows.unsqueeze(1) - rows).norm(dim=-1)
