# Takes the divergence where the tokens stand, not where they are predicted.
def get_batch_statistics(logits, reference_logits, labels):
    counted = labels != IGNORE_LABEL
    log_probs, reference = logits.log_softmax(dim=-1), reference_logits.log_softmax(dim=-1)
    tokens = labels[:, 1:].masked_fill(~counted[:, 1:], 0).unsqueeze(2)
    margins = (log_probs - reference)[:, :-1].gather(2, tokens).squeeze(2)
    divergences = position_divergence(log_probs, reference)
    return ResponseStatistics((margins * counted[:, 1:]).sum(dim=1), (divergences * counted).sum(dim=1))
