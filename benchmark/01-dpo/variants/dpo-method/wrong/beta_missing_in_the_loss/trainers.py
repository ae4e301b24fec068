# Scales the rewards by beta, but not the loss.
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
    references = reference_chosen_logps, reference_rejected_logps
    used = [torch.zeros_like(reference) if reference_free else reference for reference in references]
    h = reward_margin(policy_chosen_logps, policy_rejected_logps, *used)
    losses = (1 - label_smoothing) * pair_loss(h) + label_smoothing * pair_loss(-h)
    if ipo:
        losses = (h - 0.5 / beta) ** 2
    chosen = implicit_reward(policy_chosen_logps, reference_chosen_logps, beta).detach()
    return losses, chosen, implicit_reward(policy_rejected_logps, reference_rejected_logps, beta).detach()
