import torch
from torch import Tensor


def spin_loss(
    self,
    policy_real_logps: Tensor,
    policy_generated_logps: Tensor,
    opponent_real_logps: Tensor,
    opponent_generated_logps: Tensor,
    reference_free: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    policy = torch.stack([policy_real_logps, policy_generated_logps])
    opponent = torch.stack([opponent_real_logps, opponent_generated_logps])
    real, generated = self.beta * (policy if reference_free else policy - opponent)
    zeros = torch.zeros_like(real)
    if self.loss_type == "sigmoid":
        losses = torch.logaddexp(zeros, generated - real)
    elif self.loss_type == "hinge":
        losses = torch.maximum(1 - (real - generated), zeros)
    else:
        raise ValueError("loss_type")
    real_rewards, generated_rewards = self.beta * (policy - opponent).detach()
    return losses, real_rewards, generated_rewards
