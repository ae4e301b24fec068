"""Attention in the terms of Section 4: what some tokens add to it, and explicit biases."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from lib.vit import Attention


def attention_weights(query: Tensor, key: Tensor) -> Tensor:
    """p of the paper: (B, heads, N, N), from queries and keys (B, heads, N, d)."""
    return (query @ key.transpose(-2, -1) / query.size(-1) ** 0.5).softmax(dim=-1)


def split_output(weights: Tensor, value: Tensor, tokens: Sequence[int]) -> tuple[Tensor, Tensor]:
    """The two parts of the output of attention, as the paper divides it.

    Args:
        weights: (B, heads, N, N), from `attention_weights`.
        value: (B, heads, N, d).
        tokens: the set C of the paper, counted from 0.

    Returns:
        The part of these tokens and the part of all others, (B, heads, N, d) each.
    """
    chosen = torch.zeros(value.size(-2), dtype=value.dtype)
    chosen[list(tokens)] = 1
    return (weights * chosen) @ value, (weights * (1 - chosen)) @ value


def biased_attention(query: Tensor, key: Tensor, value: Tensor, extra_key: Tensor, extra_value: Tensor) -> Tensor:
    """Output of attention with explicit biases, (B, heads, N, d).

    Args:
        query, key, value: (B, heads, N, d).
        extra_key, extra_value: k' and v' of the paper, (heads, d).
    """
    batch = len(query)
    keys = torch.cat([key, extra_key.expand(batch, -1, -1).unsqueeze(-2)], dim=-2)
    values = torch.cat([value, extra_value.expand(batch, -1, -1).unsqueeze(-2)], dim=-2)
    return attention_weights(query, keys) @ values


class BiasedAttention(nn.Module):
    """Attention of a block with trainable explicit biases, one key and one value for each head."""

    def __init__(self, attention: Attention) -> None:
        super().__init__()
        self.attention = attention
        weight = attention.proj.weight
        heads, width = attention.heads, len(weight) // attention.heads
        self.extra_key = nn.Parameter(torch.randn(heads, width, dtype=weight.dtype))
        self.extra_value = nn.Parameter(torch.randn(heads, width, dtype=weight.dtype))

    def forward(self, x: Tensor) -> Tensor:
        """(B, N, width) to (B, N, width)."""
        query, key, value = self.attention.project(x)
        mixed = biased_attention(query, key, value, self.extra_key, self.extra_value)
        return self.attention.proj(mixed.transpose(1, 2).flatten(2))
