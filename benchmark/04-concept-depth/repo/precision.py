"""Weights of lower precision, as they are after a model was stored in fewer bits."""

import copy

import torch
from torch import Tensor, nn
from utils import LLM


def quantise(weight: Tensor, bits: int) -> Tensor:
    """A weight matrix (out, in) as it is after storage, in its own dtype; a new tensor.

    Args:
        bits: 16, or 2 to 8.
    """
    if bits == 16:
        return weight.half().to(weight.dtype)
    scale = weight.abs().amax(dim=1, keepdim=True) / (2 ** (bits - 1) - 1)
    return torch.round(weight / scale) * scale


@torch.no_grad()
def quantise_model(llm: LLM, bits: int) -> LLM:
    """A copy of a model after storage; the model itself stays as it is.

    Args:
        bits: 32, which gives an equal copy, 16, or 2 to 8.
    """
    stored = copy.deepcopy(llm)
    if bits == 32:
        return stored
    for module in stored.model.layers.modules():
        if isinstance(module, nn.Linear):
            module.weight.copy_(quantise(module.weight, bits))
    return stored
