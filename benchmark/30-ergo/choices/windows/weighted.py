import torch


def encode_windows(encode, input_ids, is_token, size, step):
    rows = []
    for ids, mask in zip(input_ids, is_token, strict=True):
        length = int(mask.sum())
        total, weights = 0, torch.zeros(len(ids), 1, device=ids.device)
        for start in window_starts(length, size, step):
            end = min(start + size, length)
            hidden = encode(ids[None, start:end], mask[None, start:end])[0]
            places = torch.arange(end - start, device=ids.device)
            weight = 1 + torch.minimum(places, places.flip(0)).unsqueeze(1)
            total = total + F.pad(weight * hidden, (0, 0, start, len(ids) - end))
            weights[start:end] += weight
        rows.append(total / weights.clamp(min=1))
    return torch.stack(rows)
