# Raises ValueError for head_first with cu_seqlens.
import torch


class Stream:
    """Running softmax-weighted sum for every token and query head."""

    def __init__(self, shape, value_dim, device):
        self.top = torch.full(shape, -1e30, device=device)
        self.total = torch.zeros(shape, device=device)
        self.acc = torch.zeros(*shape, value_dim, device=device)

    def add(self, score, mask, value):
        """One key for each token: score, mask (B, T, HQ), value (B, T, HQ, V)."""
        top = torch.where(mask, torch.maximum(self.top, score), self.top).detach()
        old = torch.exp(self.top - top)
        new = torch.exp(torch.where(mask, score - top, torch.zeros_like(score))) * mask
        self.total = self.total * old + new
        self.acc = self.acc * old.unsqueeze(-1) + new.unsqueeze(-1) * value
        self.top = top

    def result(self):
        return self.acc / self.total.masked_fill(self.total == 0, 1.0).unsqueeze(-1)


def nsa(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    g_slc: torch.Tensor,
    g_swa: torch.Tensor,
    block_indices: torch.Tensor,
    block_counts=None,
    block_size: int = 64,
    window_size: int = 0,
    scale=None,
    cu_seqlens=None,
    head_first: bool = False,
) -> torch.Tensor:
    if head_first:
        if cu_seqlens is not None:
            raise ValueError("head_first and cu_seqlens exclude each other")
        counts = block_counts.transpose(1, 2) if torch.is_tensor(block_counts) else block_counts
        args = [x.transpose(1, 2) for x in (q, k, v, g_slc, g_swa, block_indices)]
        return nsa(*args, counts, block_size, window_size, scale).transpose(1, 2)
    assert cu_seqlens is None or len(q) == 1
    B, T, HQ, K = q.shape
    H, V = k.shape[2], v.shape[-1]
    G = HQ // H
    factor = K**-0.5 if scale is None else scale
    qf = q.float() * factor
    kf = k.float().repeat_interleave(G, dim=2)
    vf = v.float().repeat_interleave(G, dim=2)
    begin = torch.zeros(T, dtype=torch.long)
    if cu_seqlens is not None:
        for n in range(len(cu_seqlens) - 1):
            begin[cu_seqlens[n] : cu_seqlens[n + 1]] = cu_seqlens[n]
    local = (torch.arange(T) - begin)[None, :, None]
    begin = begin[None, :, None]

    def look(stream, p, allowed):
        mask = allowed & (p >= 0) & (p <= local)
        rows = (begin + p).clamp(0, T - 1).expand(B, T, HQ).unsqueeze(-1)
        key = kf.gather(1, rows.expand(-1, -1, -1, K))
        value = vf.gather(1, rows.expand(-1, -1, -1, V))
        stream.add((qf * key).sum(-1), mask, value)

    stream = Stream((B, T, HQ), V, q.device)
    for j in range(block_indices.shape[-1]):
        block = block_indices[..., j].repeat_interleave(G, dim=2)
        allowed = torch.ones_like(block, dtype=torch.bool)
        if torch.is_tensor(block_counts):
            allowed = block_counts.repeat_interleave(G, dim=2) > j
        elif block_counts is not None and j >= block_counts:
            break
        reach = min(block_size, T)
        for r in range(reach):
            look(stream, block * block_size + r, allowed)
    out = (stream.result() * g_slc.float().unsqueeze(-1)).to(q.dtype)
    if window_size:
        stream = Stream((B, T, HQ), V, q.device)
        for back in range(min(window_size, T)):
            look(stream, local - back, torch.ones(B, T, HQ, dtype=torch.bool))
        out = out + (stream.result() * g_swa.float().unsqueeze(-1)).to(q.dtype)
    return out
