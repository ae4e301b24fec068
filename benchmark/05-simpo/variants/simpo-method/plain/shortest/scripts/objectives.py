# The table of the paper, a line each.
import torch
import torch.nn.functional as F


def rrhf_loss(scores, weight=1.0):
    s = scores
    margin = -s.chosen_logps / s.chosen_lengths + s.rejected_logps / s.rejected_lengths
    return F.relu(margin) - weight * s.chosen_logps


def slic_loss(scores, delta=1.0, weight=1.0):
    return F.relu(delta - scores.chosen_logps + scores.rejected_logps) - weight * scores.chosen_logps


def cpo_loss(scores, beta=0.1, weight=1.0):
    return -F.logsigmoid(beta * scores.chosen_logps - beta * scores.rejected_logps) - weight * scores.chosen_logps


def orpo_loss(scores, weight=0.5):
    pw = (scores.chosen_logps / scores.chosen_lengths).exp()
    pl = (scores.rejected_logps / scores.rejected_lengths).exp()
    odds_w = torch.log(pw / (1 - pw))
    odds_l = torch.log(pl / (1 - pl))
    return -torch.log(pw) - weight * F.logsigmoid(odds_w - odds_l)


def rdpo_loss(scores, beta=0.1, alpha=0.05):
    s = scores
    rw = beta * (s.chosen_logps - s.reference_chosen_logps)
    rl = beta * (s.rejected_logps - s.reference_rejected_logps)
    return -F.logsigmoid(rw - rl + (alpha * s.chosen_lengths - alpha * s.rejected_lengths))
