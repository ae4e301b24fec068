import torch


def subsumption_score(manifold, child, parent, norm_weight):
    rise = torch.relu(manifold.dist0(parent) - manifold.dist0(child))
    return -(manifold.dist(child, parent) + norm_weight * rise)
