# Counts equal values as a correct ranking.
import torch


def ranking_table(reward_leads, likelihood_leads):
    reward, likelihood = reward_leads >= 0, likelihood_leads >= 0
    rows = [[(r & p).double().mean() for p in (likelihood, ~likelihood)] for r in (reward, ~reward)]
    return torch.stack([torch.stack(row) for row in rows])
