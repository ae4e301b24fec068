"""Filters of next-token logits."""

import torch


def top_p_filter(logits: torch.Tensor, top_p: float) -> torch.Tensor:
    """Drop the tokens that top-p sampling never draws.

    Args:
        logits: (vocab,), finite.
        top_p: p of top-p sampling, above 0 and below 1.

    Returns:
        (vocab,): the logits of the tokens that stay as they were, and -inf for the others. At least one stays.
    """
    ordered, tokens = logits.sort(descending=True)
    probabilities = ordered.softmax(dim=-1)
    before = probabilities.cumsum(dim=-1) - probabilities
    return logits.index_fill(0, tokens[before >= top_p], -torch.inf)
