# Divides by lambda, as the opponent's optimum does.
def pair_margins(policy_real_logps, policy_generated_logps, opponent_real_logps, opponent_generated_logps, beta):
    return ((policy_real_logps - policy_generated_logps) - (opponent_real_logps - opponent_generated_logps)) / beta
