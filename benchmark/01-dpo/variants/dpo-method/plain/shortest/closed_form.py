# The equations, a line each.
import torch


def optimal_log_policy(reference_logps, rewards, beta):
    return torch.log_softmax(reference_logps + rewards / beta, dim=-1)
