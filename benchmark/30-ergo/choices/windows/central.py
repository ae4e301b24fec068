import torch


def encode_windows(encode, input_ids, is_token, size, step):
    rows = []
    for ids, mask in zip(input_ids, is_token, strict=True):
        length = int(mask.sum())
        best = torch.full((len(ids),), -1, device=ids.device)
        result = 0
        for start in window_starts(length, size, step):
            end = min(start + size, length)
            hidden = encode(ids[None, start:end], mask[None, start:end])[0]
            places = torch.arange(end - start, device=ids.device)
            context = torch.full_like(best, -1)
            context[start:end] = torch.minimum(places, places.flip(0))
            better = (context > best).unsqueeze(1)
            result = torch.where(better, F.pad(hidden, (0, 0, start, len(ids) - end)), result)
            best = torch.maximum(best, context)
        rows.append(result)
    return torch.stack(rows)
