import torch


def class_weights(alpha, num_classes):
    weights = torch.full((num_classes,), alpha / (1 - alpha))
    weights[0] = 1
    return weights
