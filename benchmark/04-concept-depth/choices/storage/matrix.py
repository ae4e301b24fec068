import torch


def quantise(weight, bits):
    if bits == 16:
        return weight.half().to(weight.dtype)
    scale = weight.abs().max() / (2 ** (bits - 1) - 1)
    return torch.round(weight / scale) * scale
