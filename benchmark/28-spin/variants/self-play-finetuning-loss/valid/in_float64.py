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
    given = policy_real_logps.dtype
    policy_real, policy_generated = policy_real_logps.double(), policy_generated_logps.double()
    opponent_real, opponent_generated = opponent_real_logps.double(), opponent_generated_logps.double()
    real_gains, generated_gains = policy_real - opponent_real, policy_generated - opponent_generated

    margins = policy_real - policy_generated if reference_free else real_gains - generated_gains
    if self.loss_type == "hinge":
        losses = F.relu(1 - self.beta * margins)
    elif self.loss_type == "sigmoid":
        losses = torch.logaddexp(margins.new_zeros(()), -self.beta * margins)
    else:
        raise ValueError(f"no loss of type {self.loss_type!r}")
    rewards = [(self.beta * gains).detach().to(given) for gains in (real_gains, generated_gains)]
    return losses.to(given), rewards[0], rewards[1]
