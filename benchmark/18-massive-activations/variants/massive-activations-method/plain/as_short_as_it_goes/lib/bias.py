# One line each.
import math

import torch


def attention_weights(query, key):
    return torch.softmax(query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1]), dim=-1)


def split_output(weights, value, tokens):
    bias = weights[..., tokens] @ value[..., tokens, :]
    return bias, weights @ value - bias


def biased_attention(query, key, value, extra_key, extra_value):
    B, H, N, d = query.shape
    k = torch.cat([key, extra_key[None, :, None, :].expand(B, H, 1, d)], dim=2)
    v = torch.cat([value, extra_value[None, :, None, :].expand(B, H, 1, d)], dim=2)
    return torch.softmax(query @ k.transpose(-1, -2) / math.sqrt(d), dim=-1) @ v
