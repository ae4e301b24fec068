"""A small pre-norm decoder with sparse attention."""

import torch
from torch import Tensor, nn

from sparse_attention.layer import AttentionConfig, SparseAttention
from sparse_attention.native import NativeConfig, NativeSparseAttention
from sparse_attention.packing import local_positions


class DecoderBlock(nn.Module):
    """Sparse attention and a two-layer MLP, each behind a layer norm and inside a residual connection."""

    def __init__(self, config: AttentionConfig) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(config.dim)
        self.attention = NativeSparseAttention(config) if isinstance(config, NativeConfig) else SparseAttention(config)
        self.mlp_norm = nn.LayerNorm(config.dim)
        self.mlp = nn.Sequential(
            nn.Linear(config.dim, 2 * config.dim),
            nn.GELU(),
            nn.Linear(2 * config.dim, config.dim),
        )

    def forward(self, hidden: Tensor, cu_seqlens: Tensor | None = None) -> Tensor:
        """Update hidden states (B, T, D)."""
        hidden = hidden + self.attention(self.attention_norm(hidden), cu_seqlens)
        return hidden + self.mlp(self.mlp_norm(hidden))


class Decoder(nn.Module):
    """Token and position embeddings, a stack of blocks, and a next-token head."""

    def __init__(self, vocab_size: int, max_length: int, config: AttentionConfig, layers: int = 1) -> None:
        super().__init__()
        self.token_embedding = nn.Embedding(vocab_size, config.dim)
        self.position_embedding = nn.Embedding(max_length, config.dim)
        self.blocks = nn.ModuleList(DecoderBlock(config) for _ in range(layers))
        self.norm = nn.LayerNorm(config.dim)
        self.head = nn.Linear(config.dim, vocab_size, bias=False)

    def forward(self, tokens: Tensor, cu_seqlens: Tensor | None = None) -> Tensor:
        """Next-token logits (B, T, vocabulary) of tokens (B, T); positions start again in each packed sequence."""
        positions = local_positions(tokens.shape[1], cu_seqlens, device=tokens.device)
        hidden = self.token_embedding(tokens) + self.position_embedding(positions)
        for block in self.blocks:
            hidden = block(hidden, cu_seqlens)
        return self.head(self.norm(hidden))


def build_model(vocab_size: int, max_length: int, config: AttentionConfig, seed: int) -> Decoder:
    """A decoder whose initial weights depend on `seed` alone."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return Decoder(vocab_size, max_length, config)
