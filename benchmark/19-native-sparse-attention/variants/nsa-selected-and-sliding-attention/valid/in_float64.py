# Computes in float64 and casts each branch: counts how often each key is listed, and weighs exponentials by it.
import torch
from sparse_attention.packing import local_positions
from torch import Tensor


def _attend(scores: Tensor, counts: Tensor, values: Tensor) -> Tensor:
    """Weights counts * exp(scores), normalised, times values; scores (B, H, G, T, T), counts (B, H or 1, 1, T, T)."""
    kept = counts > 0
    top = scores.masked_fill(~kept, torch.finfo(scores.dtype).min).amax(dim=-1, keepdim=True).detach()
    weights = counts * torch.where(kept, scores - top, 0.0).exp()
    # With any key at all, the largest term alone is 1 or more.
    return weights / weights.sum(dim=-1, keepdim=True).clamp(min=1) @ values


def nsa(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    g_slc: Tensor,
    g_swa: Tensor,
    block_indices: Tensor,
    block_counts: Tensor | int | None = None,
    block_size: int = 64,
    window_size: int = 0,
    scale: float | None = None,
    cu_seqlens: Tensor | None = None,
    head_first: bool = False,
) -> Tensor:
    if head_first and cu_seqlens is not None:
        raise RuntimeError("cu_seqlens is for the other layout")
    given = q.dtype
    if not head_first:
        q, k, v, g_slc, g_swa, block_indices = (x.movedim(1, 2) for x in (q, k, v, g_slc, g_swa, block_indices))
        if isinstance(block_counts, Tensor):
            block_counts = block_counts.movedim(1, 2)
    batch, kv_heads, length, slots = block_indices.shape
    if cu_seqlens is not None:
        assert batch == 1, "cu_seqlens is for a single row"
    local = local_positions(length, cu_seqlens, q.device)
    start = torch.arange(length, device=q.device) - local
    behind = local[:, None] - local
    same_sequence = start[:, None] == start

    listed = block_indices[..., None] * block_size + torch.arange(block_size, device=q.device)
    dropped = (listed < 0) | (listed > local[:, None, None])
    if block_counts is not None:
        limit = torch.as_tensor(block_counts, device=q.device)[..., None]
        dropped = dropped | (torch.arange(slots, device=q.device) >= limit)[..., None]
    places = (listed + start[:, None, None]).masked_fill(dropped, length).flatten(-2)
    counts = q.new_zeros((batch, kv_heads, length, length + 1), dtype=torch.float64)
    counts = counts.scatter_add(-1, places, counts.new_ones(()).expand(places.shape))[..., :-1].unsqueeze(2)

    queries, keys, values = q.double().unflatten(1, (kv_heads, -1)), k.double().unsqueeze(2), v.double().unsqueeze(2)
    scores = queries @ keys.mT * (q.shape[-1] ** -0.5 if scale is None else scale)
    out = (g_slc.double().unsqueeze(-1) * _attend(scores, counts, values).flatten(1, 2)).to(given)
    if window_size > 0:
        near = (same_sequence & (behind >= 0) & (behind < window_size)).double()
        out = out + (g_swa.double().unsqueeze(-1) * _attend(scores, near, values).flatten(1, 2)).to(given)
    return out if head_first else out.movedim(2, 1)
