# A query attends to all queries, too.
import torch


def attention_mask(context, queries):
    mask = torch.ones(context + queries, context + queries, dtype=torch.bool)
    mask[:context, context:] = False
    return mask
