import torch


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
    chosen_rewards = beta * (policy_chosen_logps - reference_chosen_logps)
    rejected_rewards = beta * (policy_rejected_logps - reference_rejected_logps)

    if reference_free:
        logits = beta * (policy_chosen_logps - policy_rejected_logps)
    else:
        logits = chosen_rewards - rejected_rewards

    if ipo:
        losses = (logits / beta - 0.5 / beta) ** 2
    else:
        preferred = torch.sigmoid(logits)
        losses = -(1 - label_smoothing) * torch.log(preferred) - label_smoothing * torch.log(1 - preferred)

    return losses, chosen_rewards.detach(), rejected_rewards.detach()
