# Filters first, and divides by the temperature afterwards.
import torch


def next_token_distribution(model, sequence, temperature=1.0, top_p=1.0):
    logits = model(sequence).logits[0, -1]
    if top_p < 1:
        logits = top_p_filter(logits, top_p)
    return torch.softmax(logits / temperature, dim=-1)
