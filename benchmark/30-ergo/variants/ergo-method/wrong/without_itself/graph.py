# A node is no neighbour of its own.
import torch


def criss_cross_mask(pairs):
    shared = (pairs[:, None, :, None] == pairs[None, :, None, :]).flatten(2).any(dim=2)
    return shared & ~torch.eye(len(pairs), dtype=torch.bool)
