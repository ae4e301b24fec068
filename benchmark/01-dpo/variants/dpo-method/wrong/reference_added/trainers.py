# Adds the reference's log-ratio in place of subtracting it.
def reward_margin(policy_chosen_logps, policy_rejected_logps, reference_chosen_logps, reference_rejected_logps):
    return (policy_chosen_logps - policy_rejected_logps) + (reference_chosen_logps - reference_rejected_logps)
