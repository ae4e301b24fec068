# Averages the advantages over the tokens.
import torch
import torch.nn.functional as F


def preference_log_probability(chosen_advantages, rejected_advantages, discount=1.0):
    totals = [
        (discount ** torch.arange(values.size(1)) * values).mean(dim=1)
        for values in (chosen_advantages, rejected_advantages)
    ]
    return F.logsigmoid(totals[0] - totals[1])
