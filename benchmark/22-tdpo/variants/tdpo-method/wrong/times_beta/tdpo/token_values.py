# Multiplies values by beta.
def optimal_log_probs(action_values, reference_log_probs, beta):
    return (reference_log_probs + beta * action_values).log_softmax(dim=-1)
