import torch


def clustering_loss(child_to_parent, child_to_negative, margin):
    return (child_to_parent + torch.relu(margin - child_to_negative)).mean()
