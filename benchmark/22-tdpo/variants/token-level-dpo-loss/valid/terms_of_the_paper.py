import torch
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
    u = beta * chosen_logps_margin - beta * rejected_logps_margin
    if if_tdpo2:
        delta = beta * rejected_position_kl - (beta * chosen_position_kl).detach()
        losses = -F.logsigmoid(u - alpha * delta)
    else:
        delta = beta * rejected_position_kl - beta * chosen_position_kl
        losses = -F.logsigmoid(u - delta)
    with torch.no_grad():
        chosen_rewards = beta * chosen_logps_margin + beta * chosen_position_kl
        rejected_rewards = beta * rejected_logps_margin + beta * rejected_position_kl
    return losses, chosen_rewards, rejected_rewards
