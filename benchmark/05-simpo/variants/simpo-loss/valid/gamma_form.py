import torch.nn.functional as F
from torch import Tensor


def simpo_loss(self, policy_chosen_logps: Tensor, policy_rejected_logps: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    gamma = self.beta * self.gamma_beta_ratio
    logits = self.beta * policy_chosen_logps - self.beta * policy_rejected_logps - gamma
    match self.loss_type:
        case "sigmoid":
            smoothing = self.label_smoothing
            losses = (1 - smoothing) * F.softplus(-logits) + smoothing * F.softplus(logits)
        case "hinge":
            losses = (1 - logits).clamp(min=0)
        case other:
            raise ValueError(f"loss_type must be one of 'sigmoid', 'hinge'; got {other!r}")
    return losses, self.beta * policy_chosen_logps, self.beta * policy_rejected_logps
