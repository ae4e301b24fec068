# Query head h reads key/value head h mod H.
import torch
from torch import Tensor


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
        q, k, v, g_slc, g_swa, block_indices = (x.transpose(1, 2) for x in (q, k, v, g_slc, g_swa, block_indices))
        if isinstance(block_counts, Tensor):
            block_counts = block_counts.transpose(1, 2)
    length, group = q.shape[1], q.shape[2] // k.shape[2]
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    positions = local_positions(length, cu_seqlens)
    starts = (torch.arange(length) - positions)[:, None, None]

    def attend(offsets):
        kept = (offsets >= 0) & (offsets <= positions[:, None, None])
        rows = torch.where(kept, offsets + starts, 0).expand(*k.shape[:3], -1)
        batch, head = torch.arange(len(k))[:, None, None, None], torch.arange(k.shape[2])[:, None]
        keys, values = k[batch, rows, head], v[batch, rows, head]
        scores = scale * torch.einsum("bthgk,bthlk->bthgl", q.unflatten(2, (-1, k.shape[2])).transpose(2, 3), keys)
        weights = attention_weights(scores, kept.expand(rows.shape).unsqueeze(-2))
        return torch.einsum("bthgl,bthlv->bthgv", weights, values).transpose(2, 3).flatten(2, 3)

    selected = selected_offsets(block_indices, block_counts, block_size)
    window = window_offsets(positions, window_size).unsqueeze(1) if window_size else None
    out = g_slc.unsqueeze(-1) * attend(selected)
    if window is not None:
        out = out + g_swa.unsqueeze(-1) * attend(window)
    return out.transpose(1, 2) if head_first else out
