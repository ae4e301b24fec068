# Estimates the divergence by the log-ratio of the tokens that were sampled.
def sequence_kl(policy_logits, reference_logits, labels):
    counted = labels[:, 1:] != IGNORE_LABEL
    tokens = labels[:, 1:].masked_fill(~counted, 0).unsqueeze(2)
    log_ratios = policy_logits[:, :-1].log_softmax(dim=-1) - reference_logits[:, :-1].log_softmax(dim=-1)
    return (log_ratios.gather(2, tokens).squeeze(2) * counted).sum(dim=1)
