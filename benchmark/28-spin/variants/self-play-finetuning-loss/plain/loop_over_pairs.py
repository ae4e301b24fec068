import torch
import torch.nn.functional as F


def spin_loss(
    self,
    policy_real_logps,
    policy_generated_logps,
    opponent_real_logps,
    opponent_generated_logps,
    reference_free=False,
):
    losses, real_rewards, generated_rewards = [], [], []
    for i in range(policy_real_logps.shape[0]):
        policy_ratio = policy_real_logps[i] - policy_generated_logps[i]
        opponent_ratio = 0 if reference_free else opponent_real_logps[i] - opponent_generated_logps[i]
        t = self.beta * (policy_ratio - opponent_ratio)
        if self.loss_type == "sigmoid":
            losses.append(F.softplus(-t))
        elif self.loss_type == "hinge":
            losses.append(F.relu(1 - t))
        else:
            raise ValueError(self.loss_type)
        real_rewards.append((self.beta * (policy_real_logps[i] - opponent_real_logps[i])).detach())
        generated_rewards.append((self.beta * (policy_generated_logps[i] - opponent_generated_logps[i])).detach())
    return torch.stack(losses), torch.stack(real_rewards), torch.stack(generated_rewards)
