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
    margins = torch.stack([chosen_logps_margin, rejected_logps_margin])
    position_kl = torch.stack([chosen_position_kl, rejected_position_kl])
    if if_tdpo2:
        penalised = margins + alpha * torch.stack([chosen_position_kl.detach(), rejected_position_kl])
    else:
        penalised = margins + position_kl
    chosen_scores, rejected_scores = beta * penalised
    losses = torch.logaddexp(chosen_scores, rejected_scores) - chosen_scores
    chosen_rewards, rejected_rewards = beta * (margins + position_kl).detach()
    return losses, chosen_rewards, rejected_rewards
