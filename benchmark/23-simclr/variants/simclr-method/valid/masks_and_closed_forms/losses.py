# The softmax written out; the closest negative by an argument of the maximum; clipped terms by torch.where.
import torch


def nt_xent(logits, labels):
    return (logits.logsumexp(dim=1) - logits[torch.arange(len(logits)), labels]).mean()


def semi_hard(similarities, labels, margin):
    rows = torch.arange(len(similarities))
    gap = similarities[rows, labels].unsqueeze(1) - similarities
    gap = torch.where((gap > 0) & (gap < margin), gap, torch.inf)
    chosen = torch.zeros_like(gap, dtype=torch.bool)
    chosen[rows, gap.argmin(dim=1)] = True
    return chosen & gap.isfinite()


def margin_triplet(similarities, labels, used, margin):
    rows = torch.arange(len(similarities))
    violation = similarities - similarities[rows, labels].unsqueeze(1) + margin
    terms = torch.where(used & (violation > 0), violation, torch.zeros_like(violation))
    counts = used.sum(dim=1)
    return (terms.sum(dim=1) / torch.where(counts > 0, counts, 1)).sum() / len(similarities)
