# Correlates values in place of ranks.
import torch


def length_correlation(scores, lengths):
    return torch.corrcoef(torch.stack([scores.double(), lengths.double()]))[0, 1]
