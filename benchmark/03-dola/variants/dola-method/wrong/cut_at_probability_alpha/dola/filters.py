# Compares probabilities with alpha itself instead of with that share of the largest one.
import math

import torch


def relative_top_filter(logits, relative_top):
    log_probs = torch.log_softmax(logits, dim=-1)
    best = log_probs.amax(dim=-1, keepdim=True)
    return log_probs.masked_fill((log_probs < math.log(relative_top)) & (log_probs < best), -math.inf)
