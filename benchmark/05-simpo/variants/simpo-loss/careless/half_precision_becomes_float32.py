# Converts half precision to float32 and leaves it there.
import torch.nn.functional as F


def simpo_loss(self, policy_chosen_logps, policy_rejected_logps):
    if policy_chosen_logps.itemsize == 2:
        policy_chosen_logps, policy_rejected_logps = policy_chosen_logps.float(), policy_rejected_logps.float()
    logits = self.beta * (policy_chosen_logps - policy_rejected_logps - self.gamma_beta_ratio)
    if self.loss_type == "sigmoid":
        losses = -(1 - self.label_smoothing) * F.logsigmoid(logits) - self.label_smoothing * F.logsigmoid(-logits)
    elif self.loss_type == "hinge":
        losses = F.relu(1 - logits)
    else:
        raise ValueError(f"loss_type is {self.loss_type!r}, neither 'sigmoid' nor 'hinge'")
    return losses, self.beta * policy_chosen_logps, self.beta * policy_rejected_logps
