# Leaves the reference out of the rewards.
def implicit_reward(policy_logps, reference_logps, beta):
    return beta * policy_logps
