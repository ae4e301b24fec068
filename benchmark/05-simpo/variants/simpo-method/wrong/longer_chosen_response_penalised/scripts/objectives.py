# Subtracts the difference in length.
import torch.nn.functional as F


def rdpo_loss(scores, beta=0.1, alpha=0.05):
    chosen = scores.chosen_logps - scores.reference_chosen_logps
    rejected = scores.rejected_logps - scores.reference_rejected_logps
    penalty = alpha * (scores.chosen_lengths - scores.rejected_lengths)
    return -F.logsigmoid(beta * (chosen - rejected) - penalty)
