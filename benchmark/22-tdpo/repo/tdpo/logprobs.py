"""What the loss needs from logits: log-probabilities of responses, and the sequential KL divergence along them."""

from typing import NamedTuple

import torch
from torch import Tensor

from tdpo.batching import IGNORE_LABEL


class ResponseStatistics(NamedTuple):
    """Sums over the tokens of each of B responses."""

    logps_margin: Tensor  # (B,) log-probability under the policy minus that under the reference
    position_kl: Tensor  # (B,) sequential KL divergence of the reference from the policy, not negative


def get_batch_statistics(logits: Tensor, reference_logits: Tensor, labels: Tensor) -> ResponseStatistics:
    """Compare policy and reference along each response.

    At each position the forward KL divergence, KL(reference || policy), is taken between the two distributions over
    the whole vocabulary, and not only at the token that follows. Positions whose label is IGNORE_LABEL do not count.

    Args:
        logits: (B, T, V) scores of the policy; those at position t predict the label at t + 1.
        reference_logits: (B, T, V) scores of the reference model, without gradient.
        labels: (B, T) tokens.

    Returns:
        Two sums a response, (B,) each; gradients flow to `logits`.
    """
    labels = labels[:, 1:]
    counted = labels != IGNORE_LABEL
    # Ignored labels are no valid index: look up token 0 in their place and drop the result.
    tokens = labels.masked_fill(~counted, 0).unsqueeze(2)

    reference_logps = reference_logits[:, :-1].log_softmax(dim=-1)
    log_ratios = logits[:, :-1].log_softmax(dim=-1) - reference_logps
    token_margins = log_ratios.gather(2, tokens).squeeze(2)
    kl = -(reference_logps.exp() * log_ratios).sum(dim=-1)
    return ResponseStatistics(
        logps_margin=torch.where(counted, token_margins, 0).sum(dim=1),
        position_kl=torch.where(counted, kl, 0).sum(dim=1),
    )
