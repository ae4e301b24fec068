# Keeps a token if the more probable ones together have less than p.
import torch


def top_p_filter(logits: torch.Tensor, top_p: float) -> torch.Tensor:
    probabilities = logits.softmax(dim=0)
    above = torch.stack([probabilities[logits > logit].sum() for logit in logits])
    return torch.where(above < top_p, logits, torch.full_like(logits, -torch.inf))
