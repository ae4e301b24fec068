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
    margins = policy_chosen_logps - policy_rejected_logps
    if not reference_free:
        margins = margins - (reference_chosen_logps - reference_rejected_logps)
    if ipo:
        losses = (margins - 0.5 / beta).square()
    else:
        # log sigmoid(z) = z + log sigmoid(-z), so that smoothing adds a linear term.
        logits = beta * margins
        losses = F.softplus(-logits) + label_smoothing * logits
    with torch.no_grad():
        chosen_rewards = beta * (policy_chosen_logps - reference_chosen_logps)
        rejected_rewards = beta * (policy_rejected_logps - reference_rejected_logps)
    return losses, chosen_rewards, rejected_rewards
