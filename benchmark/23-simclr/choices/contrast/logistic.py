import torch.nn.functional as F


def nt_xent(logits, labels):
    positive = is_positive(logits, labels)
    own = -F.logsigmoid(logits) * positive
    others = -F.logsigmoid(-logits) * ~positive
    return (own.sum(dim=1) + others.sum(dim=1) / (logits.size(1) - 1)).mean()
