# Runs the whole layer once for each packed sequence; window and blocks by gates of zero.
import torch
from torch import Tensor


class NativeSparseAttention:
    def forward(self, hidden: Tensor, cu_seqlens: Tensor | None = None) -> Tensor:
        if cu_seqlens is not None:
            spans = sequence_slices(hidden.shape[1], cu_seqlens)
            return torch.cat([self.forward(hidden[:, span]) for span in spans], dim=1)
        c = self.config
        batch, length, _ = hidden.shape
        q = self.query(hidden).view(batch, length, c.heads, c.head_dim)
        keys = self.key(hidden).view(batch, length, len(BRANCHES), c.kv_heads, c.head_dim)
        values = self.value(hidden).view(batch, length, len(BRANCHES), c.kv_heads, c.head_dim)
        gates = dict(zip(BRANCHES, self.gates(hidden), strict=True))
        coarse, weights = compressed_attention(
            q,
            self.compress_keys(keys[:, :, 0]),
            self.compress_values(values[:, :, 0]),
            visible_blocks(length, c.compressed_size, c.stride),
        )
        blocks, counts = blocks_to_read(
            weights, c.compressed_size, c.stride, c.block_size, c.num_selected, c.initial_blocks, c.local_blocks
        )
        off = torch.zeros_like(gates["window"])
        fine = nsa(q, keys[:, :, 1], values[:, :, 1], gates["selected"], off, blocks, counts, c.block_size)
        near = nsa(q, keys[:, :, 2], values[:, :, 2], off, gates["window"], blocks, counts, c.block_size, c.window_size)
        return self.output((gates["compressed"][..., None] * coarse + fine + near).reshape(batch, length, -1))
