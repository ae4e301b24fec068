# The equations, a line each.
import torch


def position_divergence(log_probs, reference_log_probs):
    return (reference_log_probs.exp() * (reference_log_probs - log_probs)).sum(-1)


def get_batch_statistics(logits, reference_logits, labels):
    p = logits[:, :-1].log_softmax(-1)
    r = reference_logits[:, :-1].log_softmax(-1)
    y = labels[:, 1:].clone()
    mask = y != IGNORE_LABEL
    y[~mask] = 0
    y = y[..., None]
    margin = p.gather(-1, y)[..., 0] - r.gather(-1, y)[..., 0]
    return ResponseStatistics((margin * mask).sum(-1), (position_divergence(p, r) * mask).sum(-1))
