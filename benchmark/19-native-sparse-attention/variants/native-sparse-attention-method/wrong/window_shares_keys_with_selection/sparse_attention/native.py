# The window reads the keys and values of the selected branch.
import torch


class NativeSparseAttention:
    def forward(self, hidden, cu_seqlens=None):
        c = self.config
        q = self.query(hidden).unflatten(-1, (c.heads, c.head_dim))
        k = self.key(hidden).unflatten(-1, (len(BRANCHES), c.kv_heads, c.head_dim)).unbind(dim=2)
        v = self.value(hidden).unflatten(-1, (len(BRANCHES), c.kv_heads, c.head_dim)).unbind(dim=2)
        g_cmp, g_slc, g_win = self.gates(hidden)
        outs, indices, counts = [], [], []
        for span in sequence_slices(hidden.shape[1], cu_seqlens):
            out, p = compressed_attention(
                q[:, span],
                self.compress_keys(k[0][:, span]),
                self.compress_values(v[0][:, span]),
                visible_blocks(span.stop - span.start, c.compressed_size, c.stride),
            )
            blocks, used = blocks_to_read(
                p, c.compressed_size, c.stride, c.block_size, c.num_selected, c.initial_blocks, c.local_blocks
            )
            outs.append(out)
            indices.append(blocks)
            counts.append(used)
        blocks, used = torch.cat(indices, dim=1), torch.cat(counts, dim=1)
        mixed = g_cmp.unsqueeze(-1) * torch.cat(outs, dim=1)
        mixed = mixed + nsa(q, k[1], v[1], g_slc, g_win, blocks, used, c.block_size, cu_seqlens=cu_seqlens)
        mixed = mixed + nsa(q, k[1], v[1], g_slc, g_win, blocks, 0, c.block_size, c.window_size, cu_seqlens=cu_seqlens)
        return self.output(mixed.flatten(2))
