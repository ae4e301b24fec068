# Sums losses of examples one by one.
import torch


def target_states(base, positive, negative, reading_vector, alpha, beta):
    target = torch.lerp(negative, positive, alpha) - negative + base
    if reading_vector is not None:
        target += beta * reading_vector.expand_as(base)
    return target


def representation_loss(current, target, mask):
    distances = [torch.dist(c[m], t[m]) for c, t, m in zip(current, target, mask, strict=True)]
    return sum(distances) / len(distances)
