def sequence_kl(policy_logits, reference_logits, labels):
    policy_log_probs = policy_logits[:, :-1].log_softmax(dim=-1)
    reference_log_probs = reference_logits[:, :-1].log_softmax(dim=-1)
    divergence = (reference_log_probs.exp() * (reference_log_probs - policy_log_probs)).sum(dim=-1)
    return (divergence * (labels[:, 1:] != IGNORE_LABEL)).sum(dim=1)
