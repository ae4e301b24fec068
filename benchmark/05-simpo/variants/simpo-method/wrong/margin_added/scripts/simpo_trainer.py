# Adds the target margin.
def reward_lead(chosen_logps, rejected_logps, beta, gamma_beta_ratio):
    return beta * (chosen_logps - rejected_logps + gamma_beta_ratio)
