# Subtracts the divergence from the reward.
def response_reward(logps_margin, position_kl, beta):
    return beta * (logps_margin - position_kl)
