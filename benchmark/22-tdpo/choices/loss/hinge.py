import torch.nn.functional as F


def pair_loss(argument):
    return F.relu(1 - argument).square()
