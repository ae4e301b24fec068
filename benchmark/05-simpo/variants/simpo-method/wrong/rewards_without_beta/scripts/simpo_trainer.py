# Takes the normalised log-probabilities themselves for rewards.
import torch
import torch.nn.functional as F


class SimPOTrainer:
    def simpo_loss(self, policy_chosen_logps, policy_rejected_logps):
        lead = reward_lead(policy_chosen_logps, policy_rejected_logps, self.beta, self.gamma_beta_ratio)
        losses = -(1 - self.label_smoothing) * F.logsigmoid(lead) - self.label_smoothing * F.logsigmoid(-lead)
        if self.loss_type == "hinge":
            losses = torch.relu(1 - lead)
        return losses, policy_chosen_logps, policy_rejected_logps
