"""A tiny decoder-only transformer with learned positions and the interface of a causal language model."""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional as F


@dataclass(frozen=True)
class LMConfig:
    """Sizes of the transformer."""

    vocab_size: int
    max_positions: int = 64
    width: int = 64
    heads: int = 4
    layers: int = 2


class LMOutput(NamedTuple):
    """Result of a forward pass: `logits` (batch, length, vocab)."""

    logits: torch.Tensor


class Block(nn.Module):
    """Pre-norm transformer block: causal self-attention, then a feed-forward layer."""

    def __init__(self, config: LMConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.attention_norm = nn.LayerNorm(config.width)
        self.query_key_value = nn.Linear(config.width, 3 * config.width)
        self.attention_output = nn.Linear(config.width, config.width)
        self.feed_forward = nn.Sequential(
            nn.LayerNorm(config.width),
            nn.Linear(config.width, 4 * config.width),
            nn.GELU(),
            nn.Linear(4 * config.width, config.width),
        )

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """Map hidden states (batch, length, width) to the same shape."""
        projected = self.query_key_value(self.attention_norm(hidden))
        # (batch, length, 3 * width) -> three tensors (batch, heads, length, width / heads)
        query, key, value = projected.unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        hidden = hidden + self.attention_output(attended.transpose(1, 2).flatten(2))
        return hidden + self.feed_forward(hidden)


class ToyLM(nn.Module):
    """Causal language model over token ids; sequences start at position 0 and carry no padding on the left."""

    def __init__(self, config: LMConfig) -> None:
        super().__init__()
        self.token_embedding = nn.Embedding(config.vocab_size, config.width)
        self.position_embedding = nn.Embedding(config.max_positions, config.width)
        self.blocks = nn.Sequential(*(Block(config) for _ in range(config.layers)))
        self.final_norm = nn.LayerNorm(config.width)
        self.head = nn.Linear(config.width, config.vocab_size)

    def forward(self, input_ids: torch.Tensor) -> LMOutput:
        """Return next-token logits (batch, length, vocab) for `input_ids` (batch, length)."""
        positions = torch.arange(input_ids.shape[-1], device=input_ids.device)
        hidden = self.token_embedding(input_ids) + self.position_embedding(positions)
        return LMOutput(self.head(self.final_norm(self.blocks(hidden))))
