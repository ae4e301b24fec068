# Takes the ratio of probabilities in place of its logarithm.
def implicit_reward(policy_logps, reference_logps, beta):
    return beta * (policy_logps - reference_logps).exp()
