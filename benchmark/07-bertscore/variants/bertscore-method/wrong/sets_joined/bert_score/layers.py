# Computes one correlation of all segments together.
import torch


def layer_quality(scores, ratings):
    return torch.corrcoef(torch.stack([torch.cat(list(scores)), torch.cat(list(ratings))]))[0, 1].abs()
