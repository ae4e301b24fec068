# Takes the log-ratio itself for the reward.
def implicit_reward(policy_logps, reference_logps, beta):
    return policy_logps - reference_logps
