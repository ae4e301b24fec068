# Adds the losses of all pairs in the ranking.
import itertools

import torch
import torch.nn.functional as F


def ranking_loss(rewards):
    pairs = itertools.combinations(range(rewards.size(1)), 2)
    return sum(F.softplus(rewards[:, j] - rewards[:, i]) for i, j in pairs)
