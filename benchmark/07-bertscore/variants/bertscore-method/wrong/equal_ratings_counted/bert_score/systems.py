# Divides by the number of all pairs, those that humans rate equally included.
import torch


def segment_agreement(scores, ratings):
    first, second = torch.triu_indices(len(scores), len(scores), offset=1)
    return float(torch.sign((ratings[first] - ratings[second]) * (scores[first] - scores[second])).mean())
