# Compares with the reference in CPO.
import torch.nn.functional as F


def cpo_loss(scores, beta=0.1, weight=1.0):
    chosen = scores.chosen_logps - scores.reference_chosen_logps
    rejected = scores.rejected_logps - scores.reference_rejected_logps
    return -F.logsigmoid(beta * (chosen - rejected)) - weight * scores.chosen_logps
