"""Selected-block and sliding-window attention: the exact-token branches of native sparse attention (NSA)."""

import torch
from sparse_attention.packing import local_positions
from torch import Tensor


def attention_weights(scores: Tensor, kept: Tensor) -> Tensor:
    """Weights that Attn of the paper gives to the values, from the scaled dot products of queries and keys.

    Args:
        scores: (..., L), one score for each key that a query is offered.
        kept: bool, broadcasts to `scores`: which of these keys the query reads.

    Returns:
        (..., L), zero for keys that are not read, and without NaN where a query reads none; differentiable in `scores`.
    """
    # A finite fill, not -inf: a token without any key then gets weights 0 and gradients 0 instead of NaN.
    return scores.masked_fill(~kept, torch.finfo(scores.dtype).min).softmax(dim=-1) * kept


def selected_offsets(block_indices: Tensor, block_counts: Tensor | int | None, block_size: int) -> Tensor:
    """Keys that the selected branch offers to each token.

    Args:
        block_indices, block_counts, block_size: as in `nsa`, time first.

    Returns:
        (B, T, H, L), int64, numbers of keys, counted from the start of the token's sequence, in any order. Entries
        below 0 or above the token's own position stand for no key.
    """
    if block_counts is not None:
        limit = block_counts.unsqueeze(-1) if isinstance(block_counts, Tensor) else block_counts
        active = torch.arange(block_indices.shape[-1], device=block_indices.device) < limit
        block_indices = block_indices.where(active, -1)
    within_block = torch.arange(block_size, device=block_indices.device)
    return (block_indices.unsqueeze(-1) * block_size + within_block).flatten(-2)


def window_offsets(positions: Tensor, window_size: int) -> Tensor:
    """Keys that the window branch offers to each token.

    Args:
        positions: (T,), int64, each token's position in its own sequence, counted from 0.
        window_size: w of the paper, at least 1.

    Returns:
        (T, L), int64, numbers of keys, counted from the start of the token's sequence, in any order. Entries below 0 or
        above the token's own position stand for no key.
    """
    return positions[:, None] - torch.arange(min(window_size, len(positions)), device=positions.device)


def _attend(q: Tensor, k: Tensor, v: Tensor, offsets: Tensor, positions: Tensor, scale: float) -> Tensor:
    """Softmax attention of each token over its own list of keys, in float32.

    Args:
        q: queries (B, T, HQ, K).
        k: keys (B, T, H, K).
        v: values (B, T, H, V).
        offsets: integers that broadcast to (B, T, H, L), the keys of each token, counted from its sequence's start.
            Entries below 0 or above the token's own position are dropped.
        positions: (T,), each token's position in its own sequence.
        scale: factor of the dot products.

    Returns:
        (B, T, HQ, V), zero where all L entries of a token are dropped.
    """
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
    weights = attention_weights(scores, kept.unsqueeze(-2))
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
    """Selected-block and sliding-window attention over shared keys and values, gated and summed.

    The shapes below are those of `head_first=False`. With `head_first=True` the head axis comes before the time axis
    in every tensor argument that has both, and in the result. HQ is a multiple of H.

    Args:
        q: queries (B, T, HQ, K).
        k: keys (B, T, H, K).
        v: values (B, T, H, V); V may differ from K.
        g_slc: gates of the selected branch (B, T, HQ), used as they are.
        g_swa: gates of the sliding-window branch (B, T, HQ), used as they are; given even if the window is off.
        block_indices: (B, T, H, S), int64; the numbers of the key blocks that a token reads, in S slots; -1 pads.
        block_counts: how many of the S slots are used, from the front: (B, T, H), int64, one number for each token
            and key/value head; an int for all of them; or None for all slots.
        block_size: number of tokens in a block.
        window_size: number of tokens in the sliding window, the token itself included; 0 turns the branch off.
        scale: factor of the dot products; None means K ** -0.5.
        cu_seqlens: (N + 1,), int64; borders 0 = cu[0] <= ... <= cu[N] = T of N sequences packed along time in a batch
            of one; None if each row of the batch is one sequence.
        head_first: whether heads come before time.

    Returns:
        (B, T, HQ, V), or (B, HQ, T, V) if `head_first`, in the dtype of `q`.
    """
    if head_first:
        if cu_seqlens is not None:
            raise RuntimeError("packed sequences (cu_seqlens) need the time-first layout")
        q, k, v, g_slc, g_swa, block_indices = (x.transpose(1, 2) for x in (q, k, v, g_slc, g_swa, block_indices))
        if isinstance(block_counts, Tensor):
            block_counts = block_counts.transpose(1, 2)
    assert cu_seqlens is None or q.shape[0] == 1, f"packed sequences (cu_seqlens) need a batch of one, not {len(q)}"

    scale = q.shape[-1] ** -0.5 if scale is None else scale
    positions = local_positions(q.shape[1], cu_seqlens, device=q.device)
    selected = selected_offsets(block_indices, block_counts, block_size)
    out = (g_slc.float().unsqueeze(-1) * _attend(q, k, v, selected, positions, scale)).to(q.dtype)

    if window_size > 0:
        window = window_offsets(positions, window_size).unsqueeze(1)
        # Each branch is rounded to the dtype of q before the sum, as it would be if it came from a kernel of its own.
        out = out + (g_swa.float().unsqueeze(-1) * _attend(q, k, v, window, positions, scale)).to(q.dtype)
    return out.transpose(1, 2) if head_first else out
