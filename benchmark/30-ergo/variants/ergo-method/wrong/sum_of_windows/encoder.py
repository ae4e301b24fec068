# Adds the hidden states of all windows and does not average.
import torch
import torch.nn.functional as F


def encode_windows(encode, input_ids, is_token, size, step):
    rows = []
    for ids, mask in zip(input_ids, is_token):
        length = int(mask.sum())
        row = None
        for start in window_starts(length, size, step):
            end = min(start + size, length)
            hidden = F.pad(encode(ids[None, start:end], mask[None, start:end])[0], (0, 0, start, len(ids) - end))
            inside = (torch.arange(len(ids)) >= start) & (torch.arange(len(ids)) < end)
            row = hidden if row is None else row + hidden
        rows.append(row)
    return torch.stack(rows)
