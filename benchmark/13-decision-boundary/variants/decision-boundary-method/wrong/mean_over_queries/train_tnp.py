# Divides the loss of a task by the number of its queries.
import torch


def query_loss(logits, labels):
    return torch.nn.functional.cross_entropy(logits.transpose(1, 2), labels)
