# The Frobenius norm itself, not its square.
import torch
from torch import Tensor


def vector_penalty(vectors: Tensor) -> Tensor:
    identity = torch.eye(len(vectors), dtype=vectors.dtype, device=vectors.device)
    return torch.linalg.matrix_norm(vectors @ vectors.T - identity)
