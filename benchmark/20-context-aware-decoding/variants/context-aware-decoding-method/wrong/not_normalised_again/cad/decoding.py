# Leaves the probabilities as they were before the filter.
import torch


def next_token_distribution(model, sequence, temperature=1.0, top_p=1.0):
    logits = model(sequence).logits[0, -1] / temperature
    probabilities = torch.softmax(logits, dim=-1)
    return probabilities if top_p >= 1 else probabilities * torch.isfinite(top_p_filter(logits, top_p))
