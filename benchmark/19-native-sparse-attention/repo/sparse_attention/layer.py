"""A simple attention layer: one set of keys and values for all branches, and blocks that are pooled, not learned."""

from dataclasses import dataclass

import torch
from NSA import nsa
from torch import Tensor, nn

from sparse_attention.compression import compressed_attention, pool_blocks, visible_blocks
from sparse_attention.gating import BRANCHES, BranchGates
from sparse_attention.packing import sequence_slices
from sparse_attention.selection import blocks_to_read


@dataclass(frozen=True)
class AttentionConfig:
    """Sizes of one attention layer."""

    dim: int = 48
    heads: int = 4
    kv_heads: int = 2
    head_dim: int = 16
    block_size: int = 8
    num_selected: int = 3
    window_size: int = 8
    branches: tuple[str, ...] = BRANCHES

    def keys_per_query(self, length: int) -> int:
        """Most keys that one query reads in a sequence of `length` tokens, pooled ones included."""
        budget = {
            "compressed": length // self.block_size,
            "selected": self.num_selected * self.block_size,
            "window": self.window_size,
        }
        return sum(budget[branch] for branch in self.branches)


class SparseAttention(nn.Module):
    """Causal grouped-query attention in three gated branches that share one set of keys and values."""

    def __init__(self, config: AttentionConfig) -> None:
        super().__init__()
        self.config = config
        self.query = nn.Linear(config.dim, config.heads * config.head_dim, bias=False)
        self.key = nn.Linear(config.dim, config.kv_heads * config.head_dim, bias=False)
        self.value = nn.Linear(config.dim, config.kv_heads * config.head_dim, bias=False)
        self.output = nn.Linear(config.heads * config.head_dim, config.dim, bias=False)
        self.gates = BranchGates(config.dim, config.heads, config.branches)

    def forward(self, hidden: Tensor, cu_seqlens: Tensor | None = None) -> Tensor:
        """Mix the tokens of each sequence.

        Args:
            hidden: (B, T, D); B is 1 if sequences are packed.
            cu_seqlens: borders (N + 1,) of packed sequences, or None.

        Returns:
            (B, T, D).
        """
        config = self.config
        q = self.query(hidden).unflatten(-1, (config.heads, config.head_dim))
        k = self.key(hidden).unflatten(-1, (config.kv_heads, config.head_dim))
        v = self.value(hidden).unflatten(-1, (config.kv_heads, config.head_dim))
        g_cmp, g_slc, g_swa = self.gates(hidden)

        compressed, indices, counts = [], [], []
        size = config.block_size
        for span in sequence_slices(hidden.shape[1], cu_seqlens):
            visible = visible_blocks(span.stop - span.start, size, size, hidden.device)
            output, probabilities = compressed_attention(
                q[:, span], pool_blocks(k[:, span], size), pool_blocks(v[:, span], size), visible
            )
            block_indices, block_counts = blocks_to_read(probabilities, size, size, size, config.num_selected)
            compressed.append(output)
            indices.append(block_indices)
            counts.append(block_counts)

        mixed = g_cmp.unsqueeze(-1) * torch.cat(compressed, dim=1) + nsa(
            q,
            k,
            v,
            g_slc,
            g_swa,
            block_indices=torch.cat(indices, dim=1),
            block_counts=torch.cat(counts, dim=1),
            block_size=config.block_size,
            window_size=config.window_size,
            cu_seqlens=cu_seqlens,
        )
        return self.output(mixed.flatten(2))
