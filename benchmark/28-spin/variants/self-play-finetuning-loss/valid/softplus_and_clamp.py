import torch
import torch.nn.functional as F
from torch import Tensor


def spin_loss(
    self,
    policy_real_logps: Tensor,
    policy_generated_logps: Tensor,
    opponent_real_logps: Tensor,
    opponent_generated_logps: Tensor,
    reference_free: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    margins = policy_real_logps - policy_generated_logps
    if not reference_free:
        margins = margins + opponent_generated_logps - opponent_real_logps
    match self.loss_type:
        case "sigmoid":
            losses = F.softplus(-self.beta * margins)
        case "hinge":
            losses = (1 - self.beta * margins).clamp(min=0)
        case unknown:
            raise ValueError(unknown)
    with torch.no_grad():
        real_rewards = self.beta * (policy_real_logps - opponent_real_logps)
        generated_rewards = self.beta * (policy_generated_logps - opponent_generated_logps)
    return losses, real_rewards, generated_rewards
