import torch


def simpo_loss(self, policy_chosen_logps, policy_rejected_logps):
    chosen_rewards = self.beta * policy_chosen_logps
    rejected_rewards = self.beta * policy_rejected_logps
    logits = chosen_rewards - rejected_rewards - self.beta * self.gamma_beta_ratio
    if self.loss_type == "sigmoid":
        p = torch.sigmoid(logits)
        losses = -(1 - self.label_smoothing) * torch.log(p) - self.label_smoothing * torch.log(1 - p)
    elif self.loss_type == "hinge":
        losses = torch.clamp(1 - logits, min=0)
    else:
        raise ValueError(f"Unknown loss type: {self.loss_type}")
    return losses, chosen_rewards, rejected_rewards
