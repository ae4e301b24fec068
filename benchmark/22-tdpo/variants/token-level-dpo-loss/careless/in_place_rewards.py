# Adds the KL divergences to the caller's margins in place; every output is right, the inputs are not.
import torch.nn.functional as F
from torch import Tensor


def tdpo_loss(
    chosen_logps_margin: Tensor,
    rejected_logps_margin: Tensor,
    chosen_position_kl: Tensor,
    rejected_position_kl: Tensor,
    beta: float,
    alpha: float = 0.5,
    if_tdpo2: bool = True,
) -> tuple[Tensor, Tensor, Tensor]:
    margins = chosen_logps_margin - rejected_logps_margin
    if if_tdpo2:
        divergences = alpha * (rejected_position_kl - chosen_position_kl.detach())
    else:
        divergences = rejected_position_kl - chosen_position_kl
    losses = -F.logsigmoid(beta * (margins - divergences))
    chosen_rewards = beta * chosen_logps_margin.detach().add_(chosen_position_kl.detach())
    rejected_rewards = beta * rejected_logps_margin.detach().add_(rejected_position_kl.detach())
    return losses, chosen_rewards, rejected_rewards
