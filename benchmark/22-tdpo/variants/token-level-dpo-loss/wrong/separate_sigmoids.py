# Gives each response a sigmoid of its own and adds the logarithms, instead of comparing the two.
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
    weight = alpha if if_tdpo2 else 1.0
    chosen_kl = chosen_position_kl.detach() if if_tdpo2 else chosen_position_kl
    chosen_scores = beta * (chosen_logps_margin + weight * chosen_kl)
    rejected_scores = beta * (rejected_logps_margin + weight * rejected_position_kl)
    losses = -F.logsigmoid(chosen_scores) - F.logsigmoid(-rejected_scores)
    chosen_rewards = (beta * (chosen_logps_margin + chosen_position_kl)).detach()
    rejected_rewards = (beta * (rejected_logps_margin + rejected_position_kl)).detach()
    return losses, chosen_rewards, rejected_rewards
