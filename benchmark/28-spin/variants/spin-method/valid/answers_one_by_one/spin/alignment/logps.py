# One sequence at a time.
import torch


def get_batch_logps(logits, labels):
    sums = []
    for scores, row in zip(logits, labels):
        positions = [t for t in range(1, len(row)) if row[t] != LABEL_PAD_TOKEN]
        chosen = torch.stack([scores[t - 1, row[t]] - scores[t - 1].logsumexp(dim=0) for t in positions])
        sums.append(chosen.sum())
    return torch.stack(sums)
