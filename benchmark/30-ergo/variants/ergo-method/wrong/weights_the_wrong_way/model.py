# Gives alpha to class 0 and the rest to the others.
import torch


def class_weights(alpha, num_classes):
    weights = torch.full((num_classes,), 1 - float(alpha))
    weights[0] = alpha
    return weights
