# Contrasts probabilities in place of logits.
import torch


def contrast(with_context, without_context, alpha):
    mixed = (1 + alpha) * with_context.softmax(dim=-1) - alpha * without_context.softmax(dim=-1)
    return mixed.clamp(min=1e-9).log()
