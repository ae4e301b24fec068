# Takes the logarithm of the sigmoid in two steps, which is infinite for badly ranked pairs.
import torch
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
    losses = -torch.log(torch.sigmoid(beta * (margins - divergences)))
    chosen_rewards = (beta * (chosen_logps_margin + chosen_position_kl)).detach()
    rejected_rewards = (beta * (rejected_logps_margin + rejected_position_kl)).detach()
    return losses, chosen_rewards, rejected_rewards
