# Puts the likelihood in the rows.
import torch


def ranking_table(reward_leads, likelihood_leads):
    reward, likelihood = reward_leads > 0, likelihood_leads > 0
    rows = [[(r & p).double().mean() for r in (reward, ~reward)] for p in (likelihood, ~likelihood)]
    return torch.stack([torch.stack(row) for row in rows])
