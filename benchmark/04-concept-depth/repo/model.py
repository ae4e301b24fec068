"""A small causal transformer with the block layout of Llama: norm, attention, post-attention norm, feed-forward."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass(frozen=True)
class ModelConfig:
    """Sizes of the model; everything but the vocabulary has a default."""

    vocabulary_size: int
    layers: int = 6
    width: int = 48
    heads: int = 4


class RMSNorm(nn.Module):
    """Scale each vector to unit root mean square, then by a learned gain."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        """(..., width) to (..., width)."""
        return self.gain * x * torch.rsqrt(x.square().mean(dim=-1, keepdim=True) + 1e-6)


class Attention(nn.Module):
    """Causal self-attention; a penalty that grows with the distance stands in for positional embeddings."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.qkv = nn.Linear(config.width, 3 * config.width, bias=False)
        self.output = nn.Linear(config.width, config.width, bias=False)
        self.register_buffer("slopes", 2.0 ** -torch.arange(1, config.heads + 1), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, width) to (B, T, width)."""
        batch, length, width = x.shape
        query, key, value = self.qkv(x).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        position = torch.arange(length)
        distance = position[:, None] - position[None, :]
        bias = -self.slopes[:, None, None] * distance
        bias = bias.masked_fill(distance < 0, float("-inf"))
        mixed = F.scaled_dot_product_attention(query, key, value, attn_mask=bias)
        return self.output(mixed.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    """One layer."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.input_layernorm = RMSNorm(config.width)
        self.self_attn = Attention(config)
        self.post_attention_layernorm = RMSNorm(config.width)
        self.mlp = nn.Sequential(
            nn.Linear(config.width, 2 * config.width), nn.GELU(), nn.Linear(2 * config.width, config.width)
        )

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, width) to (B, T, width)."""
        x = x + self.self_attn(self.input_layernorm(x))
        return x + self.mlp(self.post_attention_layernorm(x))


class TransformerLM(nn.Module):
    """Next-token model."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.embedding = nn.Embedding(config.vocabulary_size, config.width)
        self.layers = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.norm = RMSNorm(config.width)
        self.head = nn.Linear(config.width, config.vocabulary_size, bias=False)

    def forward(self, input_ids: Tensor) -> Tensor:
        """Logits (B, T, vocabulary_size) of the token after each position of `input_ids` (B, T)."""
        x = self.embedding(input_ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))
