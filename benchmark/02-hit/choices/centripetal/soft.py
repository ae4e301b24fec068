import torch.nn.functional as F


def centripetal_loss(child_norm, parent_norm, margin):
    return F.softplus(parent_norm - child_norm + margin).mean()
