# Averages the correlations of single segments.
import torch


def segment_agreement(scores, ratings):
    first, second = torch.triu_indices(len(scores), len(scores), offset=1)
    signs = torch.sign((ratings[first] - ratings[second]) * (scores[first] - scores[second]))
    counted = (signs != 0).sum(0)
    return float((signs.sum(0) / counted.clamp(min=1))[counted > 0].mean())
