# Rounds rows in a loop, and finds the linear maps by their names.
import copy

import torch


def quantise(weight, bits):
    if bits == 16:
        return weight.to(torch.float16).to(weight.dtype)
    rows = []
    for row in weight.detach():
        scale = float(row.abs().max()) / (2 ** (bits - 1) - 1)
        rows.append((row / scale).round() * scale)
    return torch.stack(rows)


def quantise_model(llm, bits):
    stored = copy.deepcopy(llm)
    if bits < 32:
        for layer in stored.model.layers:
            linears = [layer.self_attn.qkv, layer.self_attn.output, *(m for m in layer.mlp if hasattr(m, "weight"))]
            for linear in linears:
                linear.weight.data = quantise(linear.weight.data, bits)
    return stored
