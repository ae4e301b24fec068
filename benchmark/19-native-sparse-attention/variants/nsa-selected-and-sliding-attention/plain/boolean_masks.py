import torch


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
    if not head_first:
        q, k, v, g_slc, g_swa, block_indices = [x.transpose(1, 2) for x in (q, k, v, g_slc, g_swa, block_indices)]
        if isinstance(block_counts, torch.Tensor):
            block_counts = block_counts.transpose(1, 2)
    T, K = q.shape[2:]
    group = q.shape[1] // k.shape[1]
    if scale is None:
        scale = K**-0.5

    pos = local_positions(T, cu_seqlens)
    sequence = torch.zeros(T, dtype=torch.long)
    if cu_seqlens is not None:
        sequence = (torch.arange(T)[:, None] >= cu_seqlens[1:]).sum(-1)
    causal = (sequence[:, None] == sequence[None, :]) & (pos[:, None] >= pos[None, :])

    # (B, H, T, S, T): does slot s of the query hold the block of the key?
    hits = block_indices[..., None] == pos // block_size
    if block_counts is not None:
        if isinstance(block_counts, torch.Tensor):
            block_counts = block_counts[..., None]
        slot = torch.arange(block_indices.shape[-1])
        hits = hits & (slot < block_counts)[..., None]
    selected = hits.any(dim=-2) & causal

    k = k.repeat_interleave(group, dim=1)
    v = v.repeat_interleave(group, dim=1)
    scores = q @ k.transpose(-1, -2) * scale

    def branch(mask):
        return scores.masked_fill(~mask, float("-inf")).softmax(dim=-1) @ v

    out = g_slc.unsqueeze(-1) * branch(selected.repeat_interleave(group, dim=1))
    if window_size > 0:
        near = causal & (pos[:, None] - pos[None, :] < window_size)
        out = out + g_swa.unsqueeze(-1) * branch(near)
    return out if head_first else out.transpose(1, 2)
