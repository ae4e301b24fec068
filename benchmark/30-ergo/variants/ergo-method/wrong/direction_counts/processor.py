# Only links from the earlier event to the later one make a pair causal.
import torch


def pair_labels(document, pairs):
    return torch.tensor([int((i, j) in document.causal_links) for i, j in pairs.tolist()], dtype=torch.int64)
