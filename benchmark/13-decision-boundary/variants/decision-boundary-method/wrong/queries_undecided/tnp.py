# Gives queries a uniform label instead of zeros.
import torch


def point_tokens(context_x, context_y, query_x, classes):
    features = torch.cat([context_x, query_x], dim=1) / 50 - 1
    labels = features.new_full((*features.shape[:2], classes), 1 / classes)
    labels[:, : context_x.size(1)] = torch.nn.functional.one_hot(context_y, classes).to(labels.dtype)
    return torch.cat([features, labels], dim=-1)
