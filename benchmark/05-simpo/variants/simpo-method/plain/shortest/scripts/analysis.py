# Uses SciPy.
import torch
from scipy.stats import spearmanr


def length_correlation(scores, lengths):
    return torch.tensor(spearmanr(scores.numpy(), lengths.numpy()).statistic, dtype=torch.float64)


def ranking_table(reward_leads, likelihood_leads):
    r, p = reward_leads > 0, likelihood_leads > 0
    cells = [[(r & p), (r & ~p)], [(~r & p), (~r & ~p)]]
    return torch.tensor([[c.double().mean().item() for c in row] for row in cells], dtype=torch.float64)
