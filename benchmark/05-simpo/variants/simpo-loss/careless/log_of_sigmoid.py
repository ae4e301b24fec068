# Takes the logarithm of a sigmoid that underflows for large leads of the rejected response.
import torch
from torch import Tensor


def simpo_loss(self, policy_chosen_logps: Tensor, policy_rejected_logps: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    margins = policy_chosen_logps - policy_rejected_logps - self.gamma_beta_ratio
    logits = self.beta * margins
    if self.loss_type == "sigmoid":
        probabilities = torch.sigmoid(logits)
        kept, flipped = -torch.log(probabilities), -torch.log(1 - probabilities)
        losses = (1 - self.label_smoothing) * kept + self.label_smoothing * flipped
    elif self.loss_type == "hinge":
        losses = torch.relu(1 - logits)
    else:
        raise ValueError(f"loss_type is {self.loss_type!r}, not 'sigmoid' or 'hinge'")
    return losses, self.beta * policy_chosen_logps, self.beta * policy_rejected_logps
