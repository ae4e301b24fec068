# Adds the information where it is positive, and never subtracts.
import torch


def contrast(with_context, without_context, alpha):
    information = with_context.log_softmax(dim=-1) - without_context.log_softmax(dim=-1)
    return with_context + alpha * information.clamp(min=0)
