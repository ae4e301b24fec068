# As short as it goes.
def window_starts(length, size, step):
    starts = [0]
    while starts[-1] + size < length:
        starts.append(starts[-1] + step)
    return starts


def encode_windows(encode, input_ids, is_token, size, step):
    out = None
    for b in range(len(input_ids)):
        n = int(is_token[b].sum())
        h = None
        count = torch.zeros(n, 1)
        for s in window_starts(n, size, step):
            e = min(s + size, n)
            part = encode(input_ids[b : b + 1, s:e], is_token[b : b + 1, s:e])[0]
            if h is None:
                h = part.new_zeros(n, part.shape[1])
            h = torch.cat([h[:s], h[s:e] + part, h[e:]])
            count[s:e] += 1
        h = F.pad(h / count, (0, 0, 0, input_ids.shape[1] - n))[None]
        out = h if out is None else torch.cat([out, h])
    return out
