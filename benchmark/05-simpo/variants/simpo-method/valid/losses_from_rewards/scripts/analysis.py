# Ranks by sorting, and counts the pairs of the table.
import torch


def ranks(values):
    unique, inverse, counts = values.unique(return_inverse=True, return_counts=True)
    last = counts.cumsum(0).double()
    return (last - (counts.double() - 1) / 2)[inverse]


def length_correlation(scores, lengths):
    return torch.corrcoef(torch.stack([ranks(scores), ranks(lengths)]))[0, 1]


def ranking_table(reward_leads, likelihood_leads):
    table = torch.zeros(2, 2, dtype=torch.float64)
    for reward, likelihood in zip(reward_leads.tolist(), likelihood_leads.tolist()):
        table[int(reward <= 0), int(likelihood <= 0)] += 1
    return table / len(reward_leads)
