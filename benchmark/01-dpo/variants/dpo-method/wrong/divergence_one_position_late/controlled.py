# Takes the distributions at the tokens, not those that predict them.
def sequence_kl(policy_logits, reference_logits, labels):
    policy, reference = policy_logits.log_softmax(dim=-1), reference_logits.log_softmax(dim=-1)
    return ((policy.exp() * (policy - reference)).sum(dim=-1) * (labels != IGNORE_LABEL)).sum(dim=1)
