# Two loops over pairs.
import torch


def criss_cross_mask(pairs):
    listed = pairs.tolist()
    mask = torch.zeros(len(listed), len(listed), dtype=torch.bool)
    for m, one in enumerate(listed):
        for n, other in enumerate(listed):
            mask[m, n] = len(set(one) & set(other)) > 0
    return mask
