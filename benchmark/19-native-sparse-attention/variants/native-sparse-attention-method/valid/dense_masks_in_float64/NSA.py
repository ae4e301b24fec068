# Attends over whole sequences in float64: logarithms of how often a key is offered are added to the scores.
import torch
from torch import Tensor


def attention_weights(scores: Tensor, kept: Tensor) -> Tensor:
    kept = kept.expand_as(scores)
    top = scores.detach().masked_fill(~kept, -1e30).amax(dim=-1, keepdim=True).clamp(min=-1e29)
    powers = torch.where(kept, scores - top, 0.0).exp() * kept
    return powers / powers.sum(dim=-1, keepdim=True).clamp(min=1e-30)


def selected_offsets(block_indices: Tensor, block_counts: Tensor | int | None, block_size: int) -> Tensor:
    pieces = []
    for slot in range(block_indices.shape[-1]):
        block = block_indices[..., slot]
        if block_counts is not None:
            used = (block_counts if isinstance(block_counts, Tensor) else torch.full_like(block, block_counts)) > slot
            block = torch.where(used, block, -1)
        pieces += [torch.where(block < 0, -1, block * block_size + place) for place in range(block_size)]
    return torch.stack(pieces, dim=-1) if pieces else block_indices[..., :0]


def window_offsets(positions: Tensor, window_size: int) -> Tensor:
    keys = torch.arange(len(positions)).expand(len(positions), -1)
    distance = positions[:, None] - keys
    return torch.where((distance >= 0) & (distance < window_size), keys, -1)


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
        if cu_seqlens is not None:
            raise RuntimeError("heads first cannot be packed")
        moved = [x.transpose(1, 2) for x in (q, k, v, g_slc, g_swa, block_indices)]
        counts = block_counts.transpose(1, 2) if isinstance(block_counts, Tensor) else block_counts
        return nsa(*moved, counts, block_size, window_size, scale).transpose(1, 2)
    if cu_seqlens is not None:
        assert len(q) == 1
        parts = []
        for start, end in zip(cu_seqlens[:-1].tolist(), cu_seqlens[1:].tolist()):
            cut = [x[:, start:end] for x in (q, k, v, g_slc, g_swa, block_indices)]
            counts = block_counts[:, start:end] if isinstance(block_counts, Tensor) else block_counts
            parts.append(nsa(*cut, counts, block_size, window_size, scale))
        return torch.cat(parts, dim=1)
    length, group = q.shape[1], q.shape[2] // k.shape[2]
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    keys, values = (x.double().repeat_interleave(group, dim=2) for x in (k, v))
    scores = scale * torch.einsum("bthk,bphk->bthp", q.double(), keys)
    own = torch.arange(length)[:, None, None]
    result = torch.zeros(())
    offered = [(g_slc, selected_offsets(block_indices, block_counts, block_size))]
    if window_size > 0:
        windows = window_offsets(torch.arange(length), window_size)
        offered.append((g_swa, windows[:, None].expand(*k.shape[:3], -1)))
    for gate, offsets in offered:
        inside = (offsets >= 0) & (offsets <= own)
        times = torch.zeros(*k.shape[:3], length + 1, dtype=torch.float64)
        times = times.scatter_add(
            3, torch.where(inside, offsets, length), torch.ones(1, dtype=torch.float64).expand(offsets.shape)
        )
        times = times[..., :length].repeat_interleave(group, dim=2)
        weights = attention_weights(scores + times.clamp(min=1).log(), times > 0)
        result = result + gate.double().unsqueeze(-1) * torch.einsum("bthp,bphv->bthv", weights, values)
    return result.to(q.dtype)
