# Compares log-probabilities in place of log-odds.
import torch.nn.functional as F


def orpo_loss(scores, weight=0.5):
    chosen = scores.chosen_logps / scores.chosen_lengths
    rejected = scores.rejected_logps / scores.rejected_lengths
    return -chosen - weight * F.logsigmoid(chosen - rejected)
