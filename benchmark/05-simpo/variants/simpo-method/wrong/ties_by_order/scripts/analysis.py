# Ranks equal values in the order in which they come.
import torch


def length_correlation(scores, lengths):
    ranks = [values.argsort(stable=True).argsort().double() for values in (scores, lengths)]
    return torch.corrcoef(torch.stack(ranks))[0, 1]
