# Averages the divergence over the tokens of a response.
def sequence_kl(policy_logits, reference_logits, labels):
    policy, reference = (logits[:, :-1].log_softmax(dim=-1) for logits in (policy_logits, reference_logits))
    divergence = (policy.exp() * (policy - reference)).sum(dim=-1)
    counted = labels[:, 1:] != IGNORE_LABEL
    return (divergence * counted).sum(dim=1) / counted.sum(dim=1).clamp(min=1)
