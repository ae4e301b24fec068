# As short as it goes.
class NativeSparseAttention:
    def forward(self, hidden, cu_seqlens=None):
        c = self.config
        B, T, _ = hidden.shape
        q = self.query(hidden).view(B, T, c.heads, c.head_dim)
        k = self.key(hidden).view(B, T, 3, c.kv_heads, c.head_dim)
        v = self.value(hidden).view(B, T, 3, c.kv_heads, c.head_dim)
        gc, gs, gw = self.gates(hidden)
        outs, idxs, cnts = [], [], []
        for s in sequence_slices(T, cu_seqlens):
            o, p = compressed_attention(
                q[:, s],
                self.compress_keys(k[:, s, 0]),
                self.compress_values(v[:, s, 0]),
                visible_blocks(s.stop - s.start, c.compressed_size, c.stride),
            )
            i, n = blocks_to_read(
                p, c.compressed_size, c.stride, c.block_size, c.num_selected, c.initial_blocks, c.local_blocks
            )
            outs.append(o), idxs.append(i), cnts.append(n)
        idx, cnt = torch.cat(idxs, 1), torch.cat(cnts, 1)
        out = gc[..., None] * torch.cat(outs, 1)
        out = out + nsa(q, k[:, :, 1], v[:, :, 1], gs, gw, idx, cnt, c.block_size, 0, cu_seqlens=cu_seqlens)
        out = out + nsa(
            q,
            k[:, :, 2],
            v[:, :, 2],
            torch.zeros_like(gs),
            gw,
            idx,
            cnt,
            c.block_size,
            c.window_size,
            cu_seqlens=cu_seqlens,
        )
        return self.output(out.flatten(2))
