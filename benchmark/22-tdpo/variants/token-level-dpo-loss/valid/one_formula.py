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
    weight, anchor = (alpha, chosen_position_kl.detach()) if if_tdpo2 else (1.0, chosen_position_kl)
    logits = beta * (chosen_logps_margin - rejected_logps_margin + weight * (anchor - rejected_position_kl))
    losses = F.binary_cross_entropy_with_logits(logits, torch.ones_like(logits), reduction="none")
    rewards = (
        beta * (margin + position_kl).detach()
        for margin, position_kl in (
            (chosen_logps_margin, chosen_position_kl),
            (rejected_logps_margin, rejected_position_kl),
        )
    )
    return losses, *rewards
