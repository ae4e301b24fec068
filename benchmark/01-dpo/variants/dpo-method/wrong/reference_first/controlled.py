# Puts the reference first in the divergence.
def sequence_kl(policy_logits, reference_logits, labels):
    policy, reference = (logits[:, :-1].log_softmax(dim=-1) for logits in (policy_logits, reference_logits))
    divergence = (reference.exp() * (reference - policy)).sum(dim=-1)
    return (divergence * (labels[:, 1:] != IGNORE_LABEL)).sum(dim=1)
