# Compares the real answer under the policy with the generated one under the opponent.
def pair_margins(policy_real_logps, policy_generated_logps, opponent_real_logps, opponent_generated_logps, beta):
    return beta * ((policy_real_logps - opponent_generated_logps) - (policy_generated_logps - opponent_real_logps))
