"""A tiny causal transformer language model, small enough to play against itself on one CPU core."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass(frozen=True)
class ModelConfig:
    """Sizes of the transformer."""

    context_length: int
    layers: int
    width: int
    heads: int


class CausalSelfAttention(nn.Module):
    """Multi-head attention of each position to itself and to those before it."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.input_projection = nn.Linear(width, 3 * width)
        self.output_projection = nn.Linear(width, width)

    def forward(self, hidden: Tensor) -> Tensor:
        """(B, T, width) to (B, T, width)."""
        query, key, value = (
            projected.unflatten(-1, (self.heads, -1)).transpose(1, 2)  # (B, heads, T, width / heads)
            for projected in self.input_projection(hidden).chunk(3, dim=-1)
        )
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.output_projection(mixed.transpose(1, 2).flatten(2))


class Block(nn.Module):
    """Pre-norm transformer block: attention, then a two-layer perceptron."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.attention = nn.Sequential(nn.LayerNorm(width), CausalSelfAttention(width, heads))
        self.perceptron = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, hidden: Tensor) -> Tensor:
        """(B, T, width) to (B, T, width)."""
        hidden = hidden + self.attention(hidden)
        return hidden + self.perceptron(hidden)


class TransformerLM(nn.Module):
    """Decoder-only language model with learned positions.

    There is no padding mask: sequences are padded on the right, and causal attention never looks to the right.
    """

    def __init__(self, config: ModelConfig, vocabulary_size: int) -> None:
        super().__init__()
        self.token_embedding = nn.Embedding(vocabulary_size, config.width)
        self.position_embedding = nn.Embedding(config.context_length, config.width)
        self.blocks = nn.Sequential(*(Block(config.width, config.heads) for _ in range(config.layers)))
        self.head = nn.Sequential(nn.LayerNorm(config.width), nn.Linear(config.width, vocabulary_size, bias=False))

    def forward(self, input_ids: Tensor) -> Tensor:
        """Score the next token at each position.

        Args:
            input_ids: (B, T) tokens, T at most the context length.

        Returns:
            (B, T, V) logits; those at position t score the token at t + 1.
        """
        positions = torch.arange(input_ids.size(1), device=input_ids.device)
        hidden = self.token_embedding(input_ids) + self.position_embedding(positions)
        return self.head(self.blocks(hidden))
