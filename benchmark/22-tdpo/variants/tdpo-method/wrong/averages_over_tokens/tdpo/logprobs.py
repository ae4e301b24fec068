# Averages over the tokens of a response.
def get_batch_statistics(logits, reference_logits, labels):
    labels = labels[:, 1:]
    counted = labels != IGNORE_LABEL
    log_probs, reference = logits[:, :-1].log_softmax(dim=-1), reference_logits[:, :-1].log_softmax(dim=-1)
    tokens = labels.masked_fill(~counted, 0).unsqueeze(2)
    margins = (log_probs - reference).gather(2, tokens).squeeze(2)
    lengths = counted.sum(dim=1).clamp(min=1)
    divergences = position_divergence(log_probs, reference)
    return ResponseStatistics((margins * counted).sum(dim=1) / lengths, (divergences * counted).sum(dim=1) / lengths)
