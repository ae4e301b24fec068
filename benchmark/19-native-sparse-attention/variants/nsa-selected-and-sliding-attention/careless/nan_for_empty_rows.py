# A token without keys becomes NaN: a softmax over -inf only.
import torch
from torch import Tensor

from sparse_attention.packing import local_positions


def _attend(q: Tensor, k: Tensor, v: Tensor, offsets: Tensor, positions: Tensor, scale: float) -> Tensor:
    """Attention of each token over the keys at its offsets."""
    batch, length, kv_heads, _ = k.shape
    device = k.device
    kept = (offsets >= 0) & (offsets <= positions[:, None, None])

    starts = torch.arange(length, device=device) - positions
    rows = torch.where(kept, offsets + starts[:, None, None], 0)
    batch_index = torch.arange(batch, device=device)[:, None, None, None]
    head_index = torch.arange(kv_heads, device=device)[:, None]
    keys = k.float()[batch_index, rows, head_index]
    values = v.float()[batch_index, rows, head_index]

    grouped = q.float().unflatten(2, (kv_heads, -1))
    scores = scale * torch.einsum("bthgk,bthlk->bthgl", grouped, keys)
    kept = kept.unsqueeze(-2)
    weights = scores.masked_fill(~kept, -torch.inf).softmax(dim=-1)
    return torch.einsum("bthgl,bthlv->bthgv", weights, values).flatten(2, 3)


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
    """Gated sum of selected-block attention and sliding-window attention."""
    if head_first:
        if cu_seqlens is not None:
            raise RuntimeError("packed sequences (cu_seqlens) need the time-first layout")
        q, k, v, g_slc, g_swa, block_indices = (x.transpose(1, 2) for x in (q, k, v, g_slc, g_swa, block_indices))
        if isinstance(block_counts, Tensor):
            block_counts = block_counts.transpose(1, 2)
    assert cu_seqlens is None or q.shape[0] == 1, "packed sequences (cu_seqlens) need a batch of one"

    length, slots = q.shape[1], block_indices.shape[-1]
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    positions = local_positions(length, cu_seqlens, device=q.device)

    if block_counts is not None:
        limit = block_counts.unsqueeze(-1) if isinstance(block_counts, Tensor) else block_counts
        active = torch.arange(slots, device=q.device) < limit
        block_indices = block_indices.where(active, -1)
    within_block = torch.arange(block_size, device=q.device)
    selected = (block_indices.unsqueeze(-1) * block_size + within_block).flatten(-2)
    out = (g_slc.float().unsqueeze(-1) * _attend(q, k, v, selected, positions, scale)).to(q.dtype)

    if window_size > 0:
        window = positions[:, None, None] - torch.arange(min(window_size, length), device=q.device)
        # Each branch is rounded to the dtype of q before the sum, as it would be if it came from a kernel of its own.
        out = out + (g_swa.float().unsqueeze(-1) * _attend(q, k, v, window, positions, scale)).to(q.dtype)
    return out.transpose(1, 2) if head_first else out
