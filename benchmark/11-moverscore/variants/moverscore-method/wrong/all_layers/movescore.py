# Pools all layers of the encoder.
import torch
from torch import Tensor


def pool_layers(embedding: Tensor) -> Tensor:
    units = embedding / embedding.norm(dim=-1, keepdim=True)
    return torch.cat([units.amin(0), units.mean(0), units.amax(0)], -1)
