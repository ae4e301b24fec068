import torch
import torch.nn.functional as F
from torch import Tensor


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
    log_ratios = policy_chosen_logps - policy_rejected_logps
    if reference_free:
        margins = log_ratios
    else:
        margins = log_ratios + reference_rejected_logps - reference_chosen_logps

    if ipo:
        target = torch.full_like(margins, 1 / (2 * beta))
        losses = F.mse_loss(margins, target, reduction="none")
    else:
        target = torch.full_like(margins, 1 - label_smoothing)
        losses = F.binary_cross_entropy_with_logits(beta * margins, target, reduction="none")

    chosen_rewards = (policy_chosen_logps.detach() - reference_chosen_logps.detach()) * beta
    rejected_rewards = (policy_rejected_logps.detach() - reference_rejected_logps.detach()) * beta
    return losses, chosen_rewards, rejected_rewards
