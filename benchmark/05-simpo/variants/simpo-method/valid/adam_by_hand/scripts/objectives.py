# Shares the averages between objectives, and takes odds from probabilities.
import torch
import torch.nn.functional as F


def averages(scores):
    return scores.chosen_logps / scores.chosen_lengths, scores.rejected_logps / scores.rejected_lengths


def rrhf_loss(scores, weight=1.0):
    chosen, rejected = averages(scores)
    return (rejected - chosen).clamp(min=0) - weight * scores.chosen_logps


def cpo_loss(scores, beta=0.1, weight=1.0):
    lead = scores.chosen_logps - scores.rejected_logps
    return F.softplus(-beta * lead) - weight * scores.chosen_logps


def orpo_loss(scores, weight=0.5):
    chosen, rejected = averages(scores)
    return -chosen + weight * F.softplus(torch.logit(rejected.exp()) - torch.logit(chosen.exp()))


def rdpo_loss(scores, beta=0.1, alpha=0.05):
    penalised_chosen = beta * (scores.chosen_logps - scores.reference_chosen_logps) + alpha * scores.chosen_lengths
    rejected = beta * (scores.rejected_logps - scores.reference_rejected_logps)
    return F.softplus(rejected + alpha * scores.rejected_lengths - penalised_chosen)
