# Compares averages in SLiC-HF.
import torch


def slic_loss(scores, delta=1.0, weight=1.0):
    chosen = scores.chosen_logps / scores.chosen_lengths
    rejected = scores.rejected_logps / scores.rejected_lengths
    return torch.relu(delta - chosen + rejected) - weight * scores.chosen_logps
