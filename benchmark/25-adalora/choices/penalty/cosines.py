import torch


def vector_penalty(vectors):
    lengths = vectors.norm(dim=1)
    cosines = (vectors @ vectors.T) / torch.outer(lengths, lengths)
    pairs = cosines.square().sum() - cosines.diagonal().square().sum()
    return pairs + (lengths - 1).square().sum()
