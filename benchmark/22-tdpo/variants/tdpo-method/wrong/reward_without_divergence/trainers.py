# The reward of DPO.
def response_reward(logps_margin, position_kl, beta):
    return beta * logps_margin
