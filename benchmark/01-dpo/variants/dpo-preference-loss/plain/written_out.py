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
    if reference_free:
        margin = policy_chosen_logps - policy_rejected_logps
    else:
        margin = (policy_chosen_logps - policy_rejected_logps) - (reference_chosen_logps - reference_rejected_logps)
    if ipo:
        losses = (margin - 1 / (2 * beta)).pow(2)
    else:
        # -log sigmoid(t) = log(1 + exp(-t))
        given = torch.log(1 + torch.exp(-beta * margin))
        flipped = torch.log(1 + torch.exp(beta * margin))
        losses = (1 - label_smoothing) * given + label_smoothing * flipped
    with torch.no_grad():
        chosen_rewards = beta * (policy_chosen_logps - reference_chosen_logps)
        rejected_rewards = beta * (policy_rejected_logps - reference_rejected_logps)
    return losses, chosen_rewards, rejected_rewards
