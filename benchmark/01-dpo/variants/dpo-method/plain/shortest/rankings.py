# The equations, a line each.
import torch


def ranking_loss(rewards):
    loss = 0
    for k in range(rewards.shape[1]):
        loss = loss - rewards[:, k] + torch.logsumexp(rewards[:, k:], 1)
    return loss
