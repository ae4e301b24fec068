import torch


def nt_xent(logits, labels):
    positive = logits.gather(1, labels.unsqueeze(1)).squeeze(1)
    negatives = logits.masked_fill(is_positive(logits, labels), -torch.inf)
    return (negatives.logsumexp(dim=1) - positive).mean()
