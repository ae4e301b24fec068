"""Analyses of a trained model: log-probability against length, and the reward's ranking against the likelihood's."""

import torch
from torch import Tensor


def length_correlation(scores: Tensor, lengths: Tensor) -> Tensor:
    """Correlation of the scores of responses with their lengths, as the paper measures it.

    Args:
        scores: (N,) real numbers, N at least 2; neither they nor the lengths are all equal.
        lengths: (N,) numbers of tokens; equal ones are common.

    Returns:
        A scalar between -1 and 1, float64.
    """
    centred = []
    for values in (scores, lengths):
        below = (values.unsqueeze(0) < values.unsqueeze(1)).sum(dim=1)
        equal = (values.unsqueeze(0) == values.unsqueeze(1)).sum(dim=1)
        ranks = below.double() + (equal.double() + 1) / 2
        centred.append(ranks - ranks.mean())
    covariance = (centred[0] * centred[1]).sum()
    return covariance / (centred[0].square().sum() * centred[1].square().sum()).sqrt()


def ranking_table(reward_leads: Tensor, likelihood_leads: Tensor) -> Tensor:
    """How often reward and likelihood rank the pairs as people do.

    Args:
        reward_leads: (B,) reward of the chosen response less that of the rejected one; B is at least 1.
        likelihood_leads: (B,) average log-probability a token of the chosen response less that of the rejected one.

    Returns:
        (2, 2) float64 shares of the pairs: rows for the reward, columns for the likelihood; the first row and column
        stand for a correct ranking, the second ones for a wrong ranking, equality included.
    """
    reward_right, likelihood_right = reward_leads > 0, likelihood_leads > 0
    rows = [
        torch.stack([(rows & columns).double().mean() for columns in (likelihood_right, ~likelihood_right)])
        for rows in (reward_right, ~reward_right)
    ]
    return torch.stack(rows)
