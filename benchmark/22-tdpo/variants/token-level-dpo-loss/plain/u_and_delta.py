import torch


def tdpo_loss(
    chosen_logps_margin,
    rejected_logps_margin,
    chosen_position_kl,
    rejected_position_kl,
    beta,
    alpha=0.5,
    if_tdpo2=True,
):
    u = beta * chosen_logps_margin - beta * rejected_logps_margin
    if if_tdpo2:
        delta = alpha * (beta * rejected_position_kl - beta * chosen_position_kl.detach())
    else:
        delta = beta * rejected_position_kl - beta * chosen_position_kl
    losses = -torch.log(torch.sigmoid(u - delta))
    chosen_rewards = beta * (chosen_logps_margin.detach() + chosen_position_kl.detach())
    rejected_rewards = beta * (rejected_logps_margin.detach() + rejected_position_kl.detach())
    return losses, chosen_rewards, rejected_rewards
