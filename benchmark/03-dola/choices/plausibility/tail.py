import math

import torch


def relative_top_filter(logits, relative_top):
    log_probs, order = torch.log_softmax(logits, dim=-1).sort(dim=-1)
    cut = log_probs.exp().cumsum(dim=-1) <= relative_top
    cut[..., -1] = False
    kept = log_probs.masked_fill(cut, -math.inf)
    return torch.empty_like(kept).scatter(-1, order, kept)
