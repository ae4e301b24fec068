"""What the loss needs from logits: log-probabilities of responses, and the sequential divergence along them."""

from typing import NamedTuple

import torch
from torch import Tensor

from tdpo.batching import IGNORE_LABEL


class ResponseStatistics(NamedTuple):
    """Policy and reference compared along each of B responses, token by token."""

    logps_margin: Tensor  # (B,) log-probability under the policy relative to that under the reference
    position_kl: Tensor  # (B,) sequential divergence of the paper


def position_divergence(log_probs: Tensor, reference_log_probs: Tensor) -> Tensor:
    """Divergence of the paper between the next-token distributions of policy and reference at each position.

    Args:
        log_probs: (..., V) normalised log-probabilities under the policy.
        reference_log_probs: (..., V) the same under the reference model.

    Returns:
        (...,), differentiable with respect to `log_probs`.
    """
    return -(reference_log_probs.exp() * (log_probs - reference_log_probs)).sum(dim=-1)


def get_batch_statistics(logits: Tensor, reference_logits: Tensor, labels: Tensor) -> ResponseStatistics:
    """Compare policy and reference along each response.

    Positions whose label is IGNORE_LABEL do not count.

    Args:
        logits: (B, T, V) scores of the policy; those at position t predict the label at t + 1.
        reference_logits: (B, T, V) scores of the reference model, without gradient.
        labels: (B, T) tokens.

    Returns:
        Two numbers a response, (B,) each; gradients flow to `logits`.
    """
    labels = labels[:, 1:]
    counted = labels != IGNORE_LABEL
    # Ignored labels are no valid index: look up token 0 in their place and drop the result.
    tokens = labels.masked_fill(~counted, 0).unsqueeze(2)

    log_probs = logits[:, :-1].log_softmax(dim=-1)
    reference_log_probs = reference_logits[:, :-1].log_softmax(dim=-1)
    token_margins = (log_probs - reference_log_probs).gather(2, tokens).squeeze(2)
    divergences = position_divergence(log_probs, reference_log_probs)
    return ResponseStatistics(
        logps_margin=torch.where(counted, token_margins, 0).sum(dim=1),
        position_kl=torch.where(counted, divergences, 0).sum(dim=1),
    )
