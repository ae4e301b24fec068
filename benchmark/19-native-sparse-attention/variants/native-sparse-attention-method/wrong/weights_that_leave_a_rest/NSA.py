# Adds one to the sum of the exponentials, so that the weights need not add up to one.
import torch


def attention_weights(scores, kept):
    zero = torch.zeros_like(scores[..., :1])
    scores = torch.cat([scores.masked_fill(~kept, -1e30), zero], dim=-1)
    return scores.softmax(dim=-1)[..., :-1] * kept
