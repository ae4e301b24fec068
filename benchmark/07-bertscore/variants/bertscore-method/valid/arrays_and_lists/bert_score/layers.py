# The correlation by its formula.
import torch


def layer_quality(scores, ratings):
    total = 0.0
    for x, y in zip(scores, ratings):
        x, y = x - x.mean(), y - y.mean()
        total = total + torch.abs(x @ y) / (x.norm() * y.norm())
    return total / len(ratings)
