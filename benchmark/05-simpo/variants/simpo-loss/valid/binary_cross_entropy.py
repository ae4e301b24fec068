import torch
import torch.nn.functional as F
from torch import Tensor


def simpo_loss(self, policy_chosen_logps: Tensor, policy_rejected_logps: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    gap = self.beta * (policy_chosen_logps - (policy_rejected_logps + self.gamma_beta_ratio))
    if self.loss_type == "sigmoid":
        # A soft label: the given order holds with probability 1 - label_smoothing.
        target = torch.full_like(gap, 1 - self.label_smoothing)
        losses = F.binary_cross_entropy_with_logits(gap, target, reduction="none")
    elif self.loss_type == "hinge":
        losses = torch.where(gap < 1, 1 - gap, torch.zeros_like(gap))
    else:
        raise ValueError("loss_type has to be sigmoid or hinge")
    return losses, policy_chosen_logps.mul(self.beta), policy_rejected_logps.mul(self.beta)
