import torch
import torch.nn.functional as F


def preference_loss(
    policy_chosen_logps,
    policy_rejected_logps,
    reference_chosen_logps,
    reference_rejected_logps,
    beta,
    label_smoothing=0.0,
    ipo=False,
    reference_free=False,
):
    losses, chosen_rewards, rejected_rewards = [], [], []
    for i in range(len(policy_chosen_logps)):
        chosen = policy_chosen_logps[i] - reference_chosen_logps[i]
        rejected = policy_rejected_logps[i] - reference_rejected_logps[i]
        h = policy_chosen_logps[i] - policy_rejected_logps[i] if reference_free else chosen - rejected
        if ipo:
            loss = (h - 1 / (2 * beta)) ** 2
        else:
            loss = -(1 - label_smoothing) * F.logsigmoid(beta * h) - label_smoothing * F.logsigmoid(-beta * h)
        losses.append(loss)
        chosen_rewards.append(beta * chosen.detach())
        rejected_rewards.append(beta * rejected.detach())
    return torch.stack(losses), torch.stack(chosen_rewards), torch.stack(rejected_rewards)
