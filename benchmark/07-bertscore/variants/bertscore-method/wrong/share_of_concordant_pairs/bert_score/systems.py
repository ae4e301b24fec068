# Returns the share of concordant pairs.
import torch


def segment_agreement(scores, ratings):
    first, second = torch.triu_indices(len(scores), len(scores), offset=1)
    products = (ratings[first] - ratings[second]) * (scores[first] - scores[second])
    return float((products > 0).sum() / (products != 0).sum())
