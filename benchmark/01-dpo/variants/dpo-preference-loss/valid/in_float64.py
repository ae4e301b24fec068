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
    given = policy_chosen_logps.dtype
    policy_chosen, policy_rejected = policy_chosen_logps.double(), policy_rejected_logps.double()
    reference_chosen, reference_rejected = reference_chosen_logps.double(), reference_rejected_logps.double()
    chosen_ratios, rejected_ratios = policy_chosen - reference_chosen, policy_rejected - reference_rejected
    margins = policy_chosen - policy_rejected if reference_free else chosen_ratios - rejected_ratios
    if ipo:
        losses = torch.square(margins - 1 / (beta + beta))
    else:
        losses = (1 - label_smoothing) * F.softplus(-beta * margins) + label_smoothing * F.softplus(beta * margins)
    chosen_rewards, rejected_rewards = beta * chosen_ratios.detach(), beta * rejected_ratios.detach()
    return losses.to(given), chosen_rewards.to(given), rejected_rewards.to(given)
