"""Choose the next token from a model's logits."""

import torch
from torch import Tensor


def sample(logits: Tensor, generator: torch.Generator) -> Tensor:
    """Draw a token for each row.

    Args:
        logits: (B, V).

    Returns:
        (B,) token ids.
    """
    return torch.multinomial(torch.softmax(logits, dim=-1), 1, generator=generator).squeeze(-1)


def nucleus_filter(logits: Tensor, top_p: float) -> Tensor:
    """Restrict the next token to the nucleus of its distribution.

    Args:
        logits: (B, V) scores of the next token, one row a sequence.
        top_p: the probability that the nucleus has to hold, in (0, 1].

    Returns:
        (B, V) log-probabilities of the restricted distribution, which sums to 1 in each row; -inf outside the nucleus.
    """
    ordered, order = torch.sort(logits, dim=-1, descending=True)
    probabilities = torch.softmax(ordered, dim=-1)
    mass_before = probabilities.cumsum(dim=-1) - probabilities
    inside = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, order, mass_before < top_p)
    return torch.log_softmax(logits.masked_fill(~inside, float("-inf")), dim=-1)
