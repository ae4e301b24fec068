import torch


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
        g_slc, g_swa = g_slc.transpose(1, 2), g_swa.transpose(1, 2)
        block_indices = block_indices.transpose(1, 2)
        if torch.is_tensor(block_counts):
            block_counts = block_counts.transpose(1, 2)
    B, T, HQ, K = q.shape
    H, S = k.shape[2], block_indices.shape[-1]
    G = HQ // H
    scale = scale or K**-0.5
    borders = [0, T] if cu_seqlens is None else cu_seqlens.tolist()

    batch_rows = []
    for b in range(B):
        tokens = []
        for start, end in zip(borders[:-1], borders[1:]):
            for i in range(start, end):
                heads = []
                for h in range(HQ):
                    kv = h // G
                    if block_counts is None:
                        count = S
                    elif torch.is_tensor(block_counts):
                        count = block_counts[b, i, kv].item()
                    else:
                        count = block_counts
                    positions = []
                    for block in block_indices[b, i, kv, :count].tolist():
                        if block < 0:
                            continue
                        first = start + block * block_size
                        positions += range(first, min(first + block_size, i + 1))
                    weights = (k[b, positions, kv] @ q[b, i, h] * scale).softmax(-1)
                    out = g_slc[b, i, h] * (weights @ v[b, positions, kv])
                    if window_size > 0:
                        left = max(start, i - window_size + 1)
                        weights = (k[b, left : i + 1, kv] @ q[b, i, h] * scale).softmax(-1)
                        out = out + g_swa[b, i, h] * (weights @ v[b, left : i + 1, kv])
                    heads.append(out)
                tokens.append(torch.stack(heads))
        batch_rows.append(torch.stack(tokens))
    out = torch.stack(batch_rows)
    return out.transpose(1, 2) if head_first else out
