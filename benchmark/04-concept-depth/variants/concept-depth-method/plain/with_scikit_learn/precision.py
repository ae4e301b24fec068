# Clamped integers.
import copy

import torch
from torch import nn


def quantise(weight, bits):
    if bits == 16:
        return weight.to(torch.float16).to(weight.dtype)
    qmax = 2 ** (bits - 1) - 1
    scale = weight.abs().max(dim=1, keepdim=True).values / qmax
    q = torch.clamp(torch.round(weight / scale), -qmax, qmax)
    return q * scale


def quantise_model(llm, bits):
    new = copy.deepcopy(llm)
    if bits == 32:
        return new
    for layer in new.model.layers:
        for m in layer.modules():
            if isinstance(m, nn.Linear):
                m.weight.data = quantise(m.weight.data, bits)
    return new
