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
    if self.loss_type not in ("sigmoid", "hinge"):
        raise ValueError(f"no loss called {self.loss_type}")
    real_rewards = self.beta * (policy_real_logps - opponent_real_logps)
    generated_rewards = self.beta * (policy_generated_logps - opponent_generated_logps)
    if reference_free:
        logits = self.beta * policy_real_logps - self.beta * policy_generated_logps
    else:
        logits = real_rewards - generated_rewards
    losses = -F.logsigmoid(logits) if self.loss_type == "sigmoid" else F.relu(1 - logits)
    return losses, real_rewards.detach(), generated_rewards.detach()
