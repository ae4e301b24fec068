# Detaches the rewards first and builds the loss from them, so that it has no gradient.
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
    chosen_rewards = beta * (policy_chosen_logps - reference_chosen_logps).detach()
    rejected_rewards = beta * (policy_rejected_logps - reference_rejected_logps).detach()
    if reference_free:
        margins = (policy_chosen_logps - policy_rejected_logps).detach()
    else:
        margins = (chosen_rewards - rejected_rewards) / beta

    if ipo:
        losses = (margins - 1 / (2 * beta)) ** 2
    else:
        logits = beta * margins
        losses = -(1 - label_smoothing) * F.logsigmoid(logits) - label_smoothing * F.logsigmoid(-logits)
    return losses, chosen_rewards, rejected_rewards
