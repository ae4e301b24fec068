def reward_lead(chosen_logps, rejected_logps, beta, gamma_beta_ratio):
    difference = chosen_logps - rejected_logps
    return beta * (difference - gamma_beta_ratio * (-difference).sigmoid().detach())
