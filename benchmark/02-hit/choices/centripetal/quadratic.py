import torch


def centripetal_loss(child_norm, parent_norm, margin):
    return torch.relu(parent_norm - child_norm + margin).square().mean()
