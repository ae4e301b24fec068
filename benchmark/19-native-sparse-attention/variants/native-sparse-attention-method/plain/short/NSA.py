# As short as it goes: one mask of tokens by tokens for each branch.
def attention_weights(scores, kept):
    return torch.softmax(scores.masked_fill(~kept, -1e9), dim=-1) * kept


def selected_offsets(block_indices, block_counts, block_size):
    if block_counts is not None:
        n = block_counts[..., None] if torch.is_tensor(block_counts) else block_counts
        block_indices = torch.where(torch.arange(block_indices.shape[-1]) < n, block_indices, -1)
    return (block_indices[..., None] * block_size + torch.arange(block_size)).flatten(-2)


def window_offsets(positions, window_size):
    return positions[:, None] - torch.arange(window_size)


def nsa(
    q,
    k,
    v,
    g_slc,
    g_swa,
    block_indices,
    block_counts=None,
    block_size=64,
    window_size=0,
    scale=None,
    cu_seqlens=None,
    head_first=False,
):
    if head_first:
        q, k, v, g_slc, g_swa, block_indices = [x.transpose(1, 2) for x in (q, k, v, g_slc, g_swa, block_indices)]
        if torch.is_tensor(block_counts):
            block_counts = block_counts.transpose(1, 2)
    B, T, HQ, K = q.shape
    G = HQ // k.shape[2]
    pos = local_positions(T, cu_seqlens)
    start = torch.arange(T) - pos
    scores = torch.einsum("bqhd,bkhd->bqhk", q, k.repeat_interleave(G, 2)) * (K**-0.5 if scale is None else scale)
    v = v.repeat_interleave(G, 2)

    def branch(offsets):
        offsets = offsets.expand(B, T, k.shape[2], offsets.shape[-1])
        ok = (offsets >= 0) & (offsets <= pos[:, None, None])
        mask = torch.zeros(B, T, k.shape[2], T + 1, dtype=torch.bool)
        mask = mask.scatter(3, torch.where(ok, offsets + start[:, None, None], T), True)[..., :T]
        return torch.einsum("bqhk,bkhd->bqhd", attention_weights(scores, mask.repeat_interleave(G, 2)), v)

    out = g_slc[..., None] * branch(selected_offsets(block_indices, block_counts, block_size))
    if window_size:
        out = out + g_swa[..., None] * branch(window_offsets(pos, window_size)[:, None])
    return out.transpose(1, 2) if head_first else out
