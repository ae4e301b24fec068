# Softplus, and rewards in two products.
import torch.nn.functional as F


def pair_loss(argument):
    return F.softplus(-argument)


def response_reward(logps_margin, position_kl, beta):
    return beta * logps_margin + beta * position_kl
