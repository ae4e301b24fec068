# A hinge in place of the log-sigmoid.
import torch


def pair_loss(margin):
    return torch.relu(1 - margin)
