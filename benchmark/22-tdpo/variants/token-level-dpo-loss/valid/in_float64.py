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
    given = chosen_logps_margin.dtype
    margins = torch.stack([chosen_logps_margin, rejected_logps_margin]).double()
    divergences = torch.stack([chosen_position_kl, rejected_position_kl]).double()
    rewards = (beta * (margins + divergences)).detach().to(given)
    if if_tdpo2:
        kl_term = alpha * (divergences[1] - divergences[0].detach())
    else:
        kl_term = divergences[1] - divergences[0]
    losses = -F.logsigmoid(beta * (margins[0] - margins[1] - kl_term))
    return losses.to(given), rewards[0], rewards[1]
