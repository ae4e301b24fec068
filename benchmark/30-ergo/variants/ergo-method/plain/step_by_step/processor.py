# A loop over pairs.
import torch


def pair_labels(document, pairs):
    labels = torch.zeros(len(pairs), dtype=torch.long)
    for n, (i, j) in enumerate(pairs.tolist()):
        if (i, j) in document.causal_links:
            labels[n] = 1
        elif (j, i) in document.causal_links:
            labels[n] = 1
    return labels
