# Returns the average log-probabilities as rewards, without beta.
import torch
import torch.nn.functional as F
from torch import Tensor


def simpo_loss(self, policy_chosen_logps: Tensor, policy_rejected_logps: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    margins = policy_chosen_logps - policy_rejected_logps - self.gamma_beta_ratio
    logits = self.beta * margins
    if self.loss_type == "sigmoid":
        losses = -(1 - self.label_smoothing) * F.logsigmoid(logits) - self.label_smoothing * F.logsigmoid(-logits)
    elif self.loss_type == "hinge":
        losses = torch.relu(1 - logits)
    else:
        raise ValueError(f"loss_type is {self.loss_type!r}, not 'sigmoid' or 'hinge'")
    return losses, policy_chosen_logps, policy_rejected_logps
