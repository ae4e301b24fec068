import torch.nn.functional as F


def clustering_loss(child_to_parent, child_to_negative, margin):
    return F.softplus(child_to_parent - child_to_negative + margin).mean()
