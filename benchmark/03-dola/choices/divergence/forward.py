import torch


def divergence(mature_logits, early_logits):
    log_mature = torch.log_softmax(mature_logits, -1)
    log_early = torch.log_softmax(early_logits, -1)
    return (log_mature.exp() * (log_mature - log_early)).sum(-1)
