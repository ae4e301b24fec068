import torch.nn.functional as F
from torch import Tensor


def simpo_loss(self, policy_chosen_logps: Tensor, policy_rejected_logps: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    if self.loss_type not in ("sigmoid", "hinge"):
        raise ValueError(f"Unknown loss type: {self.loss_type}. Should be one of ['sigmoid', 'hinge']")
    chosen_rewards = policy_chosen_logps * self.beta
    rejected_rewards = policy_rejected_logps * self.beta
    # Both losses are functions of the lead of the chosen reward and of a threshold.
    lead = chosen_rewards - rejected_rewards
    threshold = self.beta * self.gamma_beta_ratio
    if self.loss_type == "hinge":
        losses = F.relu(threshold + 1 - lead)
    else:
        kept = -F.logsigmoid(lead - threshold)
        flipped = -F.logsigmoid(threshold - lead)
        losses = kept + self.label_smoothing * (flipped - kept) if self.label_smoothing else kept
    return losses, chosen_rewards, rejected_rewards
