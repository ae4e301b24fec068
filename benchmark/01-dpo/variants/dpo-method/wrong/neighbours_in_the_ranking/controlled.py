# Pairs each completion with the next worse one only.
import torch


def preference_pairs(rewards):
    offsets = rewards.size(1) * torch.arange(len(rewards)).unsqueeze(1)
    order = rewards.argsort(dim=1, descending=True)
    pairs = torch.stack([offsets + order[:, :-1], offsets + order[:, 1:]], dim=2).flatten(0, 1)
    values = rewards.flatten()
    return pairs[values[pairs[:, 0]] > values[pairs[:, 1]]]
