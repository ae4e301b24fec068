import torch


def pair_loss(argument):
    return torch.sigmoid(-argument).square()
