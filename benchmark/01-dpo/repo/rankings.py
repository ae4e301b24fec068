"""Preferences over more than two responses: rankings of K responses to one prompt."""

import torch
from torch import Tensor


def ranking_loss(rewards: Tensor) -> Tensor:
    """Loss of each ranking, given the rewards of the ranked responses.

    Args:
        rewards: (B, K) rewards of K >= 2 responses to each prompt, the most preferred response first, the least
            preferred one last. Differences of rewards range from -10,000 to 10,000.

    Returns:
        (B,), finite and not reduced, differentiable.
    """
    # Entry k is the log of the sum of exp(reward) over the responses that are still in the running at rank k.
    log_remaining = torch.flip(torch.logcumsumexp(torch.flip(rewards, [1]), dim=1), [1])
    return (log_remaining - rewards).sum(dim=1)
