# Drops the token with which the sum reaches p.
import torch


def top_p_filter(logits, top_p):
    probabilities, tokens = logits.softmax(dim=-1).sort(descending=True)
    dropped = probabilities.cumsum(dim=-1) > top_p
    dropped[0] = False
    return logits.index_fill(0, tokens[dropped], -torch.inf)
