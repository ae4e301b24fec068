# Scales the difference in length by beta.
import torch.nn.functional as F


def rdpo_loss(scores, beta=0.1, alpha=0.05):
    chosen = scores.chosen_logps - scores.reference_chosen_logps
    rejected = scores.rejected_logps - scores.reference_rejected_logps
    lengths = scores.chosen_lengths - scores.rejected_lengths
    return -F.logsigmoid(beta * (chosen - rejected + alpha * lengths))
