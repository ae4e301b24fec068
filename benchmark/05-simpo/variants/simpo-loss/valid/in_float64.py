import torch.nn.functional as F
from torch import Tensor


def simpo_loss(self, policy_chosen_logps: Tensor, policy_rejected_logps: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    given = policy_chosen_logps.dtype
    chosen_rewards = policy_chosen_logps.double() * self.beta
    rejected_rewards = policy_rejected_logps.double() * self.beta
    logits = chosen_rewards - rejected_rewards - self.beta * self.gamma_beta_ratio
    if self.loss_type == "hinge":
        losses = F.relu(1 - logits)
    elif self.loss_type == "sigmoid":
        losses = F.softplus(-logits) + self.label_smoothing * logits
    else:
        raise ValueError(f"loss_type {self.loss_type!r} should be one of 'hinge' and 'sigmoid'")
    return losses.to(given), chosen_rewards.to(given), rejected_rewards.to(given)
