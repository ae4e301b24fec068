# A softmax of the values alone.
def optimal_log_probs(action_values, reference_log_probs, beta):
    return (action_values / beta).log_softmax(dim=-1)
