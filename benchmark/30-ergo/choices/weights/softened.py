import torch


def class_weights(alpha, num_classes):
    weights = torch.full((num_classes,), alpha**0.5)
    weights[0] = (1 - alpha) ** 0.5
    return weights
