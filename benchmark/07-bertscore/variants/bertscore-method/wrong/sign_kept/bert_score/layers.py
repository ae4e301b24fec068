# Averages correlations with their signs.
import torch


def layer_quality(scores, ratings):
    return torch.stack([torch.corrcoef(torch.stack(pair))[0, 1] for pair in zip(scores, ratings)]).mean()
