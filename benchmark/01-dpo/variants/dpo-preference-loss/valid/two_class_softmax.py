import torch
from torch import Tensor


def _cross_entropy(chosen: Tensor, rejected: Tensor) -> Tensor:
    """Negative log-probability of the first of two classes, given their scores."""
    return torch.logaddexp(chosen, rejected) - chosen


def preference_loss(
    policy_chosen_logps: Tensor,
    policy_rejected_logps: Tensor,
    reference_chosen_logps: Tensor,
    reference_rejected_logps: Tensor,
    beta: float,
    label_smoothing: float = 0.0,
    ipo: bool = False,
    reference_free: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    policy = torch.stack([policy_chosen_logps, policy_rejected_logps])
    reference = torch.stack([reference_chosen_logps, reference_rejected_logps])
    scores = policy if reference_free else policy - reference
    if ipo:
        losses = (scores[0] - scores[1] - 1 / (2 * beta)) ** 2
    else:
        scaled = beta * scores
        kept, flipped = _cross_entropy(scaled[0], scaled[1]), _cross_entropy(scaled[1], scaled[0])
        losses = torch.lerp(kept, flipped, label_smoothing)
    rewards = beta * (policy - reference).detach()
    return losses, rewards[0], rewards[1]
