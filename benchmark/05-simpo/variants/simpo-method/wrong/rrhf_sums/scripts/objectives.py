# Ranks by sums in RRHF.
import torch


def rrhf_loss(scores, weight=1.0):
    return torch.relu(scores.rejected_logps - scores.chosen_logps) - weight * scores.chosen_logps
