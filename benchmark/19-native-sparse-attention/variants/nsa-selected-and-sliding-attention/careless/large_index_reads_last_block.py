# Clamps numbers past the end to the last block and reads it.
import math

import torch
import torch.nn.functional as F


def split(x, block_size):
    """(B, H, T, D) -> (B, H, N, block_size, D), zero-padded at the end."""
    padding = -x.shape[2] % block_size
    return F.pad(x, (0, 0, 0, padding)).unflatten(2, (-1, block_size))


def masked_softmax(scores, mask):
    has_key = mask.any(dim=-1, keepdim=True)
    scores = torch.where(mask, scores, torch.full_like(scores, -math.inf))
    scores = torch.where(has_key, scores, torch.zeros_like(scores))
    return torch.softmax(scores, dim=-1) * has_key


def one_sequence(q, k, v, g_slc, g_swa, indices, active, block_size, window, scale):
    """All tensors heads first, float32 but for the integers; returns both gated branches."""
    B, HQ, T, K = q.shape
    H, S = indices.shape[1], indices.shape[-1]
    q = q.view(B, H, HQ // H, T, K)
    kb, vb = split(k, block_size), split(v, block_size)
    N = kb.shape[2]
    valid = active & (indices >= 0)
    safe = indices.clamp(0, N - 1)
    b = torch.arange(B)[:, None, None, None]
    h = torch.arange(H)[None, :, None, None]
    ks = kb[b, h, safe].flatten(3, 4)
    vs = vb[b, h, safe].flatten(3, 4)
    p = safe[..., None] * block_size + torch.arange(block_size)
    mask = valid[..., None] & (p <= torch.arange(T)[:, None, None])
    mask = mask.flatten(3, 4).unsqueeze(2)
    scores = torch.matmul(ks.unsqueeze(2), q.unsqueeze(-1)).squeeze(-1) * scale
    if S == 0:
        selected = torch.zeros(B, HQ, T, v.shape[-1])
    else:
        selected = torch.matmul(masked_softmax(scores, mask).unsqueeze(-2), vs.unsqueeze(2)).squeeze(-2)
        selected = selected.reshape(B, HQ, T, -1)
    selected = g_slc.unsqueeze(-1) * selected
    if window <= 0:
        return selected, None
    distance = torch.arange(T)[:, None] - torch.arange(T)
    band = (distance >= 0) & (distance < window)
    scores = q @ k.unsqueeze(2).transpose(-1, -2) * scale
    local = masked_softmax(scores, band) @ v.unsqueeze(2)
    return selected, g_swa.unsqueeze(-1) * local.reshape(B, HQ, T, -1)


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
            raise RuntimeError("packed input must be time first")
        assert q.size(0) == 1, "packed input must have batch size 1"
    slots = block_indices.size(-1)
    if block_counts is None:
        active = torch.ones_like(block_indices, dtype=torch.bool)
    elif isinstance(block_counts, int):
        active = (torch.arange(slots) < block_counts).expand_as(block_indices)
    else:
        active = torch.arange(slots) < block_counts.unsqueeze(-1)
    scale = q.size(-1) ** (-0.5) if scale is None else scale
    tensors = (q, k, v, g_slc, g_swa, block_indices, active)
    if not head_first:
        tensors = tuple(x.transpose(1, 2) for x in tensors)
    borders = [0, tensors[0].size(2)] if cu_seqlens is None else cu_seqlens.tolist()
    outputs = []
    for start, end in zip(borders[:-1], borders[1:], strict=True):
        if start == end:
            continue
        part = [x[:, :, start:end] for x in tensors]
        part = [x.float().contiguous() if x.is_floating_point() else x for x in part]
        selected, local = one_sequence(*part, block_size, window_size, scale)
        total = selected.to(q.dtype)
        outputs.append(total if local is None else total + local.to(q.dtype))
    out = torch.cat(outputs, dim=2)
    return out if head_first else out.transpose(1, 2)
