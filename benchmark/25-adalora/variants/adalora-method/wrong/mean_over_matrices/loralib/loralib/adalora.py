# Averages the penalty over all matrices of vectors, as the authors' code may.
import torch
from torch import Tensor, nn


def orthogonality_penalty(model: nn.Module) -> Tensor:
    adapters = [module for module in model.modules() if isinstance(module, SVDLinear) and module.r > 0]
    sides = [side for adapter in adapters for side in (adapter.lora_A, adapter.lora_B.T)]
    return torch.stack([vector_penalty(side) for side in sides]).mean() if sides else torch.zeros(())
