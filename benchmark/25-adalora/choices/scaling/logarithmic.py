import torch


def update_factor(alpha, rank):
    return alpha / torch.log2(1 + rank)
