# A loop over sequences, tokens and heads that gathers the keys of each query.
import torch


def attention_weights(scores, kept):
    scores = torch.where(kept, scores, torch.finfo(scores.dtype).min)
    e = torch.exp(scores - scores.max(dim=-1, keepdim=True).values) * kept
    total = e.sum(dim=-1, keepdim=True)
    return e / torch.where(total == 0, torch.ones_like(total), total)


def selected_offsets(block_indices, block_counts, block_size):
    B, T, H, S = block_indices.shape
    slots = torch.arange(S).view(1, 1, 1, S)
    if block_counts is None:
        used = torch.ones(B, T, H, S, dtype=torch.bool)
    elif isinstance(block_counts, int):
        used = (slots < block_counts).expand(B, T, H, S)
    else:
        used = slots < block_counts.unsqueeze(-1)
    tokens = block_indices.unsqueeze(-1) * block_size + torch.arange(block_size)
    return tokens.masked_fill(~used.unsqueeze(-1), -1).reshape(B, T, H, S * block_size)


def window_offsets(positions, window_size):
    return positions.unsqueeze(1) - torch.arange(window_size - 1, -1, -1).unsqueeze(0)


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
        q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
        g_slc, g_swa, block_indices = g_slc.transpose(1, 2), g_swa.transpose(1, 2), block_indices.transpose(1, 2)
        if isinstance(block_counts, torch.Tensor):
            block_counts = block_counts.transpose(1, 2)
    batch, length, heads, dim = q.shape
    group = heads // k.shape[2]
    if scale is None:
        scale = 1 / dim**0.5
    positions = local_positions(length, cu_seqlens)
    selected = selected_offsets(block_indices, block_counts, block_size)
    window = window_offsets(positions, window_size) if window_size > 0 else None
    rows = []
    for b in range(batch):
        for t in range(length):
            own, start = positions[t].item(), t - positions[t].item()
            for h in range(heads):
                lists = [(g_slc, selected[b, t, h // group])]
                if window is not None:
                    lists.append((g_swa, window[t]))
                out = torch.zeros(v.shape[-1], dtype=q.dtype)
                for gate, offsets in lists:
                    where = offsets[(offsets >= 0) & (offsets <= own)] + start
                    if len(where) == 0:
                        continue
                    scores = scale * (k[b, where, h // group] @ q[b, t, h])
                    weights = attention_weights(scores, torch.ones_like(scores, dtype=torch.bool))
                    out = out + gate[b, t, h] * (weights @ v[b, where, h // group])
                rows.append(out)
    out = torch.stack(rows).view(batch, length, heads, v.shape[-1])
    return out.transpose(1, 2) if head_first else out
