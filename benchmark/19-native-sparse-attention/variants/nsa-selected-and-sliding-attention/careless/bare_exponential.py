# Takes exp of the scores without subtracting their maximum.
import torch


def weighted_attention(scores, counts, values):
    """Attention with weights counts * exp(scores); scores and counts (B, HQ, T, T), values (B, HQ, T, V)."""
    shifted = torch.where(counts > 0, scores, torch.zeros_like(scores))
    weights = counts * shifted.exp()
    total = weights.sum(dim=-1, keepdim=True)
    return (weights @ values) / torch.where(total > 0, total, torch.ones_like(total))


def nsa(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    g_slc: torch.Tensor,
    g_swa: torch.Tensor,
    block_indices: torch.Tensor,
    block_counts: torch.Tensor | int | None = None,
    block_size: int = 64,
    window_size: int = 0,
    scale: float | None = None,
    cu_seqlens: torch.Tensor | None = None,
    head_first: bool = False,
) -> torch.Tensor:
    if head_first and cu_seqlens is not None:
        raise RuntimeError("head_first cannot be used with cu_seqlens")
    if cu_seqlens is not None and q.shape[0] != 1:
        raise AssertionError("cu_seqlens needs one row")
    if not head_first:
        q, k, v, g_slc, g_swa, block_indices = (x.transpose(1, 2) for x in (q, k, v, g_slc, g_swa, block_indices))
        if torch.is_tensor(block_counts):
            block_counts = block_counts.transpose(1, 2)
    B, HQ, T, K = q.shape
    H, S = k.shape[1], block_indices.shape[-1]
    dtype, device = q.dtype, q.device

    t = torch.arange(T, device=device)
    if cu_seqlens is None:
        sequence, local = torch.zeros_like(t), t
    else:
        sequence = torch.searchsorted(cu_seqlens, t, right=True) - 1
        local = t - cu_seqlens[sequence]
    visible = (sequence[:, None] == sequence) & (local[:, None] >= local)

    active = torch.ones(B, H, T, S, dtype=torch.bool, device=device)
    if block_counts is not None:
        limit = block_counts[..., None] if torch.is_tensor(block_counts) else block_counts
        active = (torch.arange(S, device=device) < limit).expand(B, H, T, S)
    counts = torch.zeros(B, H, T, T, device=device)
    for j in range(S):
        hit = block_indices[..., j, None] == local // block_size
        counts = counts + (hit & active[..., j, None] & visible).float()

    q, k, v = q.float(), k.float(), v.float()
    k, v, counts = (x.repeat_interleave(HQ // H, dim=1) for x in (k, v, counts))
    scores = (q @ k.transpose(-1, -2)) * (K**-0.5 if scale is None else scale)
    out = (weighted_attention(scores, counts, v) * g_slc.float()[..., None]).to(dtype)
    if window_size > 0:
        band = visible & (local[:, None] - local < window_size)
        out = out + (weighted_attention(scores, band.float().expand_as(scores), v) * g_swa.float()[..., None]).to(dtype)
    return out if head_first else out.transpose(1, 2)
