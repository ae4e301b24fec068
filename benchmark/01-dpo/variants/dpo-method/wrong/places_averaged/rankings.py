# Divides by the number of places.
import torch


def ranking_loss(rewards):
    terms = [torch.logsumexp(rewards[:, k:], dim=1) - rewards[:, k] for k in range(rewards.size(1))]
    return torch.stack(terms).mean(dim=0)
