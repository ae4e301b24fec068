# Normalises the weights of each part to one.
import torch


def split_output(weights, value, tokens):
    chosen = torch.zeros(value.size(-2), dtype=value.dtype)
    chosen[list(tokens)] = 1
    parts = [weights * chosen, weights * (1 - chosen)]
    return tuple(part / part.sum(dim=-1, keepdim=True) @ value for part in parts)
