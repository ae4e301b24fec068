# Takes the plain mean over tokens for the value of a state.
def advantages(action_values, reference_log_probs):
    return action_values - action_values.mean(dim=-1, keepdim=True)
