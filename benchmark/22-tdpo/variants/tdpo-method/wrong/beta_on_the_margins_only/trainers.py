# Leaves beta off the divergence.
def tdpo_loss(
    chosen_logps_margin,
    rejected_logps_margin,
    chosen_position_kl,
    rejected_position_kl,
    beta,
    alpha=0.5,
    if_tdpo2=True,
):
    delta = divergence_term(chosen_position_kl, rejected_position_kl, alpha, if_tdpo2)
    losses = pair_loss(beta * (chosen_logps_margin - rejected_logps_margin) - delta)
    chosen = response_reward(chosen_logps_margin, chosen_position_kl, beta)
    rejected = response_reward(rejected_logps_margin, rejected_position_kl, beta)
    return losses, chosen.detach(), rejected.detach()
