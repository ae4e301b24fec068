# Takes the odds of whole responses.
import torch
import torch.nn.functional as F


def orpo_loss(scores, weight=0.5):
    chosen, rejected = scores.chosen_logps, scores.rejected_logps
    log_odds = (chosen - torch.log1p(-chosen.exp())) - (rejected - torch.log1p(-rejected.exp()))
    return -chosen / scores.chosen_lengths - weight * F.logsigmoid(log_odds)
