# The equations, a line each.
import torch
import torch.nn.functional as F


def reward_lead(chosen_logps, rejected_logps, beta, gamma_beta_ratio):
    return beta * chosen_logps - beta * rejected_logps - beta * gamma_beta_ratio


class SimPOTrainer:
    def simpo_loss(self, policy_chosen_logps, policy_rejected_logps):
        u = reward_lead(policy_chosen_logps, policy_rejected_logps, self.beta, self.gamma_beta_ratio)
        if self.loss_type == "sigmoid":
            e = self.label_smoothing
            losses = -F.logsigmoid(u) * (1 - e) - F.logsigmoid(-u) * e
        elif self.loss_type == "hinge":
            losses = F.relu(1 - u)
        else:
            raise ValueError("loss_type must be sigmoid or hinge")
        return losses, self.beta * policy_chosen_logps, self.beta * policy_rejected_logps

    def get_batch_logps(self, logits, labels, normalized=True):
        labels = labels[:, 1:].clone()
        mask = labels != self.label_pad_token_id
        labels[~mask] = 0
        logps = torch.gather(logits[:, :-1].log_softmax(-1), 2, labels[:, :, None])[:, :, 0]
        total = (logps * mask).sum(-1)
        return total / mask.sum(-1) if normalized else total
