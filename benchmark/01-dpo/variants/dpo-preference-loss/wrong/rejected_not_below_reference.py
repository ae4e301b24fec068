# Stops lowering a rejected response once the policy finds it less likely than the reference does.
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
    margins = policy_chosen_logps - torch.maximum(policy_rejected_logps, reference_rejected_logps)
    if not reference_free:
        margins = margins - (reference_chosen_logps - reference_rejected_logps)

    if ipo:
        losses = (margins - 1 / (2 * beta)) ** 2
    else:
        logits = beta * margins
        losses = -(1 - label_smoothing) * F.logsigmoid(logits) - label_smoothing * F.logsigmoid(-logits)

    chosen_rewards = beta * (policy_chosen_logps - reference_chosen_logps).detach()
    rejected_rewards = beta * (policy_rejected_logps - reference_rejected_logps).detach()
    return losses, chosen_rewards, rejected_rewards
