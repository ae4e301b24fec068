# A symmetric matrix of links, from which the pairs are read.
import torch
from torch import Tensor


def pair_labels(document: Document, pairs: Tensor) -> Tensor:
    causes = torch.zeros(len(document.events), len(document.events), dtype=torch.int64)
    for cause, effect in document.causal_links:
        causes[cause, effect] = causes[effect, cause] = 1
    return causes[pairs[:, 0], pairs[:, 1]]
