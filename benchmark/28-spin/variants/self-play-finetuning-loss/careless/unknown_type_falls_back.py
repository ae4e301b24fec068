# Falls back to the logistic loss for unknown loss types.
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
        margins = margins - (opponent_real_logps - opponent_generated_logps)
    logits = self.beta * margins
    if self.loss_type == "hinge":
        losses = torch.relu(1 - logits)
    else:
        losses = -F.logsigmoid(logits)
    real_rewards = (self.beta * (policy_real_logps - opponent_real_logps)).detach()
    generated_rewards = (self.beta * (policy_generated_logps - opponent_generated_logps)).detach()
    return losses, real_rewards, generated_rewards
