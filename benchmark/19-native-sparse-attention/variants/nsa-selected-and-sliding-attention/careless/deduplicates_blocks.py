# Counts a block once however often it is listed.
import torch
from torch.nn.functional import scaled_dot_product_attention


def attend(q, k, v, counts, scale):
    """q (B, HQ, T, K), k and v (B, H, T, ..), counts (B, H, T, T); zeros where a row of counts is zero."""
    group = q.shape[1] // k.shape[1]
    k, v, counts = (x.repeat_interleave(group, dim=1) for x in (k, v, counts))
    empty = counts.sum(dim=-1, keepdim=True) == 0
    bias = counts.masked_fill(empty, 1.0).log()
    return scaled_dot_product_attention(q, k, v, attn_mask=bias, scale=scale).masked_fill(empty, 0.0)


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
    if cu_seqlens is not None:
        if head_first:
            raise RuntimeError("cu_seqlens with head_first")
        assert q.shape[0] == 1
    scale = float(q.shape[-1] ** -0.5 if scale is None else scale)
    if block_counts is None:
        block_counts = block_indices.shape[-1]
    if not torch.is_tensor(block_counts):
        block_counts = torch.full(block_indices.shape[:-1], block_counts)
    everything = [q, k, v, g_slc, g_swa, block_indices, block_counts]
    if not head_first:
        everything = [x.transpose(1, 2) for x in everything]
    time = everything[0].shape[2]
    borders = [0, time] if cu_seqlens is None else cu_seqlens.tolist()
    lengths = [end - start for start, end in zip(borders, borders[1:], strict=False)]
    results = []
    for pieces in zip(*(x.split(lengths, dim=2) for x in everything), strict=True):
        *floats, blocks, limit = pieces
        queries, keys, values, selected_gate, window_gate = (x.float() for x in floats)
        t = torch.arange(queries.shape[2])
        used = torch.arange(blocks.shape[-1]) < limit[..., None]
        listed = (blocks[..., None] == t // block_size) & used[..., None]
        counts = listed.any(dim=3).float() * (t[:, None] >= t)
        result = (attend(queries, keys, values, counts, scale) * selected_gate[..., None]).to(q.dtype)
        if window_size > 0:
            near = ((t[:, None] >= t) & (t[:, None] - t < window_size)).float().expand_as(counts)
            result = result + (attend(queries, keys, values, near, scale) * window_gate[..., None]).to(q.dtype)
        results.append(result)
    out = torch.cat(results, dim=2)
    return out if head_first else out.transpose(1, 2)
