# A causal mask, as language models have it.
import torch


def attention_mask(context, queries):
    return torch.ones(context + queries, context + queries, dtype=torch.bool).tril()
