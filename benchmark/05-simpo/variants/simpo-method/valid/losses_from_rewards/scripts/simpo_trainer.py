# Computes rewards first and subtracts gamma from their difference; softplus for the loss.
import torch
import torch.nn.functional as F
from torch import Tensor


def reward_lead(chosen_logps: Tensor, rejected_logps: Tensor, beta: float, gamma_beta_ratio: float) -> Tensor:
    gamma = gamma_beta_ratio * beta
    return beta * chosen_logps - beta * rejected_logps - gamma


class SimPOTrainer:
    def simpo_loss(self, policy_chosen_logps: Tensor, policy_rejected_logps: Tensor):
        if self.loss_type not in ("sigmoid", "hinge"):
            raise ValueError("loss_type has to be 'sigmoid' or 'hinge'")
        lead = reward_lead(policy_chosen_logps, policy_rejected_logps, self.beta, self.gamma_beta_ratio)
        losses = F.softplus(-lead) + self.label_smoothing * lead
        if self.loss_type == "hinge":
            losses = (1 - lead).clamp(min=0)
        return losses, policy_chosen_logps * self.beta, policy_rejected_logps * self.beta

    def get_batch_logps(self, logits: Tensor, labels: Tensor, normalized: bool = True) -> Tensor:
        targets = labels[:, 1:]
        losses = F.cross_entropy(
            logits[:, :-1].transpose(1, 2), targets, ignore_index=self.label_pad_token_id, reduction="none"
        )
        lengths = (targets != self.label_pad_token_id).sum(dim=1)
        return -losses.sum(dim=1) / (lengths if normalized else 1)
