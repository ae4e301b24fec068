# Averages the supervised term of RRHF over the tokens.
import torch


def rrhf_loss(scores, weight=1.0):
    chosen = scores.chosen_logps / scores.chosen_lengths
    rejected = scores.rejected_logps / scores.rejected_lengths
    return torch.relu(rejected - chosen) - weight * chosen
