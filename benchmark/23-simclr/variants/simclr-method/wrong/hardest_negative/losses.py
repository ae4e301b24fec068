# Keeps the negative that is most similar, even if it is more similar than the positive.
import torch


def semi_hard(similarities, labels, margin):
    positive = similarities.gather(1, labels.unsqueeze(1))
    band = (similarities > positive - margin) & ~is_positive(similarities, labels)
    closest = similarities.masked_fill(~band, -torch.inf).amax(dim=1, keepdim=True)
    return band & (similarities == closest)
