# Measures from each layer to the mixture, as textbooks define the Jensen-Shannon divergence.
import math

import torch


def divergence(mature_logits, early_logits):
    log_n, log_j = mature_logits.log_softmax(dim=-1), early_logits.log_softmax(dim=-1)
    log_m = torch.logaddexp(log_n, log_j) - math.log(2)
    return ((log_n.exp() * (log_n - log_m)).sum(dim=-1) + (log_j.exp() * (log_j - log_m)).sum(dim=-1)) / 2
