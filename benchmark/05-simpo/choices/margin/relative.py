def reward_lead(chosen_logps, rejected_logps, beta, gamma_beta_ratio):
    level = (chosen_logps.abs() + rejected_logps.abs()) / 2
    return beta * (chosen_logps - rejected_logps - gamma_beta_ratio * level)
