"""The event relational graph: its nodes are pairs of events."""

from itertools import combinations

import torch
from torch import Tensor


def event_pairs(events: int) -> Tensor:
    """All unordered pairs of a document's events.

    Returns:
        (events * (events - 1) / 2, 2) int64, the smaller number first, in lexicographic order.
    """
    return torch.tensor(list(combinations(range(events), 2)), dtype=torch.int64).view(-1, 2)


def criss_cross_mask(pairs: Tensor) -> Tensor:
    """Which pairs are neighbours in the graph; a node attends to its neighbours.

    Args:
        pairs: (P, 2) numbers of events; events of different documents have different numbers.

    Returns:
        (P, P) bool.
    """
    shared = pairs[:, None, :, None] == pairs[None, :, None, :]  # (P, P, 2, 2)
    return shared.flatten(2).any(dim=2)
