import math

import torch


def position_divergence(log_probs, reference_log_probs):
    log_mixture = torch.logaddexp(log_probs, reference_log_probs) - math.log(2)
    of_policy = (log_probs.exp() * (log_probs - log_mixture)).sum(dim=-1)
    of_reference = (reference_log_probs.exp() * (reference_log_probs - log_mixture)).sum(dim=-1)
    return (of_policy + of_reference) / 2
