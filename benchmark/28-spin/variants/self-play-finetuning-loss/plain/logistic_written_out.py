import torch


def spin_loss(
    self,
    policy_real_logps,
    policy_generated_logps,
    opponent_real_logps,
    opponent_generated_logps,
    reference_free=False,
):
    real_rewards = self.beta * (policy_real_logps - opponent_real_logps)
    generated_rewards = self.beta * (policy_generated_logps - opponent_generated_logps)
    if reference_free:
        t = self.beta * (policy_real_logps - policy_generated_logps)
    else:
        t = real_rewards - generated_rewards
    if self.loss_type == "sigmoid":
        losses = torch.log(1 + torch.exp(-t))
    elif self.loss_type == "hinge":
        losses = torch.maximum(torch.zeros_like(t), 1 - t)
    else:
        raise ValueError(f"unknown loss type {self.loss_type}")
    return losses, real_rewards.detach(), generated_rewards.detach()
