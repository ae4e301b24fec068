import math

import torch


def relative_top_filter(logits, relative_top):
    log_probs = torch.log_softmax(logits, dim=-1)
    best = log_probs.amax(dim=-1, keepdim=True)
    entropy = -(log_probs.exp() * log_probs).sum(dim=-1, keepdim=True)
    threshold = torch.minimum(math.log(relative_top) - entropy, best)
    return log_probs.masked_fill(log_probs < threshold, -math.inf)
