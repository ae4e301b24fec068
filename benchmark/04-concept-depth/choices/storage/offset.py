import torch


def quantise(weight, bits):
    if bits == 16:
        return weight.half().to(weight.dtype)
    low, high = weight.amin(dim=1, keepdim=True), weight.amax(dim=1, keepdim=True)
    scale = (high - low) / (2**bits - 1)
    return low + torch.round((weight - low) / scale) * scale
