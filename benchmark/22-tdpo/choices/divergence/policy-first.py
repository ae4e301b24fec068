def position_divergence(log_probs, reference_log_probs):
    return (log_probs.exp() * (log_probs - reference_log_probs)).sum(dim=-1)
