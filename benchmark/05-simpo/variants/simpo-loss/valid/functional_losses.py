import torch
import torch.nn.functional as F
from torch import Tensor


def simpo_loss(self, policy_chosen_logps: Tensor, policy_rejected_logps: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    chosen_rewards, rejected_rewards = self.beta * policy_chosen_logps, self.beta * policy_rejected_logps
    gamma = self.beta * self.gamma_beta_ratio
    if self.loss_type == "hinge":
        ones = torch.ones_like(chosen_rewards)
        losses = F.margin_ranking_loss(chosen_rewards, rejected_rewards, ones, margin=1 + gamma, reduction="none")
    elif self.loss_type == "sigmoid":
        wins = chosen_rewards - rejected_rewards - gamma
        # Minus the log-sigmoid of -x is x more than that of x, so that smoothing adds a linear term.
        losses = self.label_smoothing * wins - F.logsigmoid(wins)
    else:
        raise ValueError(f"{self.loss_type!r} is no loss_type: use 'sigmoid' or 'hinge'")
    return losses, chosen_rewards, rejected_rewards
