"""A tiny causal transformer language model, small enough to train on one CPU core in seconds."""

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


class Block(nn.Module):
    """Pre-norm transformer block: causal self-attention, then a two-layer perceptron."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.attention_norm = nn.LayerNorm(width)
        self.query_key_value = nn.Linear(width, 3 * width)
        self.attention_out = nn.Linear(width, width)
        self.perceptron = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, hidden: Tensor) -> Tensor:
        """(B, T, width) to (B, T, width)."""
        heads = self.query_key_value(self.attention_norm(hidden)).unflatten(-1, (3, self.heads, -1))
        query, key, value = heads.permute(2, 0, 3, 1, 4)  # (B, heads, T, width / heads) each
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        hidden = hidden + self.attention_out(mixed.transpose(1, 2).flatten(2))
        return hidden + self.perceptron(hidden)


class TinyLM(nn.Module):
    """Decoder-only language model with learned positions; token embedding and output layer share their weights.

    There is no padding mask: sequences are padded on the right, and causal attention never looks to the right.
    """

    def __init__(self, config: ModelConfig, vocabulary_size: int) -> None:
        super().__init__()
        self.token_embedding = nn.Embedding(vocabulary_size, config.width)
        self.position_embedding = nn.Embedding(config.context_length, config.width)
        self.blocks = nn.Sequential(*(Block(config.width, config.heads) for _ in range(config.layers)))
        self.final_norm = nn.LayerNorm(config.width)
        for embedding in (self.token_embedding, self.position_embedding):
            # Tied weights are used as an output layer too, where unit variance would make for huge logits.
            nn.init.normal_(embedding.weight, std=0.1)

    def forward(self, input_ids: Tensor) -> Tensor:
        """Score the next token at each position.

        Args:
            input_ids: (B, T) tokens, T at most the context length.

        Returns:
            (B, T, V) logits; those at position t score the token at t + 1.
        """
        positions = torch.arange(input_ids.size(1), device=input_ids.device)
        hidden = self.token_embedding(input_ids) + self.position_embedding(positions)
        return F.linear(self.final_norm(self.blocks(hidden)), self.token_embedding.weight)
