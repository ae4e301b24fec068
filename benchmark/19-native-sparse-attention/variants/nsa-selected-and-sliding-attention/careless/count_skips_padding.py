# Counts valid blocks only: padding slots do not use up the count.
import torch


def attend(query, keys, values, scale):
    """Attention of the query heads (G, K) of one group over keys (L, K) and values (L, V)."""
    if keys.shape[0] == 0:
        return query.new_zeros(query.shape[0], values.shape[-1])
    return torch.softmax(scale * query @ keys.T, dim=-1) @ values


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
    if cu_seqlens is not None and head_first:
        raise RuntimeError("cu_seqlens does not go with head_first")
    if head_first:
        q, k, v, g_slc, g_swa, block_indices = [x.transpose(1, 2) for x in (q, k, v, g_slc, g_swa, block_indices)]
        if isinstance(block_counts, torch.Tensor):
            block_counts = block_counts.transpose(1, 2)
    batch, length, heads, key_dim = q.shape
    kv_heads, slots = k.shape[2], block_indices.shape[-1]
    group = heads // kv_heads
    if cu_seqlens is None:
        sequences = [(b, 0, length) for b in range(batch)]
    else:
        assert batch == 1
        borders = cu_seqlens.tolist()
        sequences = [(0, borders[n], borders[n + 1]) for n in range(len(borders) - 1)]
    if scale is None:
        scale = key_dim**-0.5
    dtype = q.dtype
    q, k, v, g_slc, g_swa = (x.float() for x in (q, k, v, g_slc, g_swa))

    rows = []
    for b, start, end in sequences:
        for t in range(end - start):
            pieces = []
            for h in range(kv_heads):
                count = slots
                if isinstance(block_counts, torch.Tensor):
                    count = min(slots, int(block_counts[b, start + t, h]))
                elif block_counts is not None:
                    count = min(slots, block_counts)
                chosen = []
                for number in [n for n in block_indices[b, start + t, h].tolist() if 0 <= n * block_size < end - start][
                    :count
                ]:
                    first = number * block_size
                    chosen.extend(p for p in range(max(first, 0), min(first + block_size, t + 1)))
                chosen = torch.tensor(chosen, dtype=torch.long) + start
                mine = slice(h * group, (h + 1) * group)
                query = q[b, start + t, mine]
                out = g_slc[b, start + t, mine, None] * attend(query, k[b, chosen, h], v[b, chosen, h], scale)
                out = out.to(dtype)
                if window_size > 0:
                    near = slice(start + max(0, t - window_size + 1), start + t + 1)
                    local = g_swa[b, start + t, mine, None] * attend(query, k[b, near, h], v[b, near, h], scale)
                    out = out + local.to(dtype)
                pieces.append(out)
            rows.append(torch.cat(pieces))
    out = torch.stack(rows).view(batch, length, heads, v.shape[-1])
    return out.transpose(1, 2) if head_first else out
