import torch
import torch.nn.functional as F


def simpo_loss(self, policy_chosen_logps, policy_rejected_logps):
    gamma = self.gamma_beta_ratio * self.beta
    losses = []
    for chosen, rejected in zip(policy_chosen_logps, policy_rejected_logps):
        u = self.beta * chosen - self.beta * rejected - gamma
        if self.loss_type == "hinge":
            losses.append(F.relu(1 - u))
        elif self.loss_type == "sigmoid":
            loss = -F.logsigmoid(u) * (1 - self.label_smoothing)
            losses.append(loss - F.logsigmoid(-u) * self.label_smoothing)
        else:
            raise ValueError(f"loss_type must be 'sigmoid' or 'hinge', got {self.loss_type}")
    return torch.stack(losses), self.beta * policy_chosen_logps, self.beta * policy_rejected_logps
