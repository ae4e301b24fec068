"""The attention layer of the paper: learned compression, and keys and values of its own for each branch."""

from dataclasses import dataclass

import torch
from NSA import nsa
from torch import Tensor, nn

from sparse_attention.compression import BlockCompressor, block_count, compressed_attention, visible_blocks
from sparse_attention.gating import BRANCHES, BranchGates
from sparse_attention.layer import AttentionConfig
from sparse_attention.packing import sequence_slices
from sparse_attention.selection import blocks_to_read


@dataclass(frozen=True)
class NativeConfig(AttentionConfig):
    """Sizes of one layer of native sparse attention; `block_size` is l' of the paper and `window_size` is w."""

    num_selected: int = 4  # n of the paper
    initial_blocks: int = 1
    local_blocks: int = 2
    compressed_size: int = 8  # l
    stride: int = 4  # d
    hidden: int = 32  # hidden size of the MLPs that compress blocks and compute gates

    def __post_init__(self) -> None:
        if self.compressed_size % self.stride or self.block_size % self.stride:
            raise ValueError("compressed_size and block_size must be multiples of stride")
        if not 0 < self.initial_blocks + self.local_blocks <= self.num_selected:
            raise ValueError("num_selected leaves no room for the initial and local blocks")

    def keys_per_query(self, length: int) -> int:
        """Most keys that one query reads in a sequence of `length` tokens, compressed ones included."""
        pooled = length // self.block_size if "compressed" in self.branches else 0
        own = block_count(length, self.compressed_size, self.stride) if "compressed" in self.branches else 0
        return super().keys_per_query(length) - pooled + own


class NativeSparseAttention(nn.Module):
    """Causal grouped-query attention in three gated branches, as in the paper.

    Attributes:
        query: gives the queries of all HQ heads.
        key, value: give, for each branch in the order of `BRANCHES`, keys and values of all H heads.
        output: maps the joined heads back to hidden states.
        gates: gates of the three branches.
        compress_keys, compress_values: phi of the paper for keys and for values.
    """

    def __init__(self, config: NativeConfig) -> None:
        super().__init__()
        self.config = config
        self.query = nn.Linear(config.dim, config.heads * config.head_dim, bias=False)
        self.key = nn.Linear(config.dim, len(BRANCHES) * config.kv_heads * config.head_dim, bias=False)
        self.value = nn.Linear(config.dim, len(BRANCHES) * config.kv_heads * config.head_dim, bias=False)
        self.output = nn.Linear(config.heads * config.head_dim, config.dim, bias=False)
        self.gates = BranchGates(config.dim, config.heads, config.branches, config.hidden)
        sizes = (config.head_dim, config.compressed_size, config.stride, config.hidden)
        self.compress_keys = BlockCompressor(*sizes)
        self.compress_values = BlockCompressor(*sizes)

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
        by_branch = (len(BRANCHES), config.kv_heads, config.head_dim)
        k_cmp, k_slc, k_win = self.key(hidden).unflatten(-1, by_branch).unbind(dim=2)
        v_cmp, v_slc, v_win = self.value(hidden).unflatten(-1, by_branch).unbind(dim=2)
        g_cmp, g_slc, g_win = self.gates(hidden)

        outputs, indices, counts = [], [], []
        for span in sequence_slices(hidden.shape[1], cu_seqlens):
            visible = visible_blocks(span.stop - span.start, config.compressed_size, config.stride, hidden.device)
            output, probabilities = compressed_attention(
                q[:, span], self.compress_keys(k_cmp[:, span]), self.compress_values(v_cmp[:, span]), visible
            )
            block_indices, block_counts = blocks_to_read(
                probabilities,
                config.compressed_size,
                config.stride,
                config.block_size,
                config.num_selected,
                config.initial_blocks,
                config.local_blocks,
            )
            outputs.append(output)
            indices.append(block_indices)
            counts.append(block_counts)

        block_indices, block_counts = torch.cat(indices, dim=1), torch.cat(counts, dim=1)
        options = {"block_size": config.block_size, "cu_seqlens": cu_seqlens}
        mixed = (
            g_cmp.unsqueeze(-1) * torch.cat(outputs, dim=1)
            + nsa(q, k_slc, v_slc, g_slc, g_win, block_indices, block_counts, **options)
            + nsa(q, k_win, v_win, g_slc, g_win, block_indices, 0, window_size=config.window_size, **options)
        )
        return self.output(mixed.flatten(2))
