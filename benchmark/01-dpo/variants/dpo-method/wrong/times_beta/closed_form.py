# Multiplies rewards by beta.
import torch


def optimal_log_policy(reference_logps, rewards, beta):
    return torch.log_softmax(reference_logps + beta * rewards, dim=-1)
