"""A tiny causal transformer language model, small enough to train on one CPU core in seconds."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass(frozen=True)
class ModelConfig:
    """Sizes of the transformer."""

    vocabulary_size: int
    context_length: int
    layers: int
    width: int
    heads: int


@dataclass(frozen=True)
class LanguageModelOutput:
    """What a forward pass returns."""

    logits: Tensor  # (B, T, vocabulary_size); position t scores the token at t + 1


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
        batch, length, width = hidden.shape
        projected = self.query_key_value(self.attention_norm(hidden))
        # (B, T, 3 * width) to three tensors of (B, heads, T, width / heads)
        query, key, value = projected.view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        hidden = hidden + self.attention_out(mixed.transpose(1, 2).reshape(batch, length, width))
        return hidden + self.perceptron(hidden)


class TransformerLM(nn.Module):
    """Decoder-only language model with learned positions.

    There is no padding mask: sequences are padded on the right, and causal attention never looks to the right.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.token_embedding = nn.Embedding(config.vocabulary_size, config.width)
        self.position_embedding = nn.Embedding(config.context_length, config.width)
        self.blocks = nn.Sequential(*(Block(config.width, config.heads) for _ in range(config.layers)))
        self.final_norm = nn.LayerNorm(config.width)
        self.head = nn.Linear(config.width, config.vocabulary_size, bias=False)

    def forward(self, input_ids: Tensor) -> LanguageModelOutput:
        """Score the next token at each position of `input_ids`, (B, T) with T at most the context length."""
        positions = torch.arange(input_ids.size(1), device=input_ids.device)
        hidden = self.token_embedding(input_ids) + self.position_embedding(positions)
        return LanguageModelOutput(logits=self.head(self.final_norm(self.blocks(hidden))))
