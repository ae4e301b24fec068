# Falls back to the sigmoid loss for an unknown loss_type.
import torch
import torch.nn.functional as F
from torch import Tensor


def simpo_loss(self, policy_chosen_logps: Tensor, policy_rejected_logps: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    margins = policy_chosen_logps - policy_rejected_logps - self.gamma_beta_ratio
    logits = self.beta * margins
    if self.loss_type == "hinge":
        losses = torch.relu(1 - logits)
    else:
        losses = -(1 - self.label_smoothing) * F.logsigmoid(logits) - self.label_smoothing * F.logsigmoid(-logits)
    return losses, self.beta * policy_chosen_logps, self.beta * policy_rejected_logps
