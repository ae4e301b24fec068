# A hinge in place of the log-sigmoid.
import torch


def pair_loss(argument):
    return torch.relu(1 - argument)
