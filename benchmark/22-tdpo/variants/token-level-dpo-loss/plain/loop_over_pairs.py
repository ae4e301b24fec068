import torch
import torch.nn.functional as F


def tdpo_loss(
    chosen_logps_margin,
    rejected_logps_margin,
    chosen_position_kl,
    rejected_position_kl,
    beta,
    alpha=0.5,
    if_tdpo2=True,
):
    losses = []
    chosen_rewards = []
    rejected_rewards = []
    for m_w, m_l, kl_w, kl_l in zip(
        chosen_logps_margin, rejected_logps_margin, chosen_position_kl, rejected_position_kl
    ):
        chosen_rewards.append((beta * (m_w + kl_w)).detach())
        rejected_rewards.append((beta * (m_l + kl_l)).detach())
        if if_tdpo2:
            logit = beta * (m_w - m_l) - alpha * beta * (kl_l - kl_w.detach())
        else:
            logit = beta * (m_w + kl_w) - beta * (m_l + kl_l)
        losses.append(-F.logsigmoid(logit))
    return torch.stack(losses), torch.stack(chosen_rewards), torch.stack(rejected_rewards)
