import torch.nn.functional as F


def divergence_term(chosen_kl, rejected_kl, alpha, if_tdpo2):
    if not if_tdpo2:
        return rejected_kl - chosen_kl
    return alpha * F.softplus(rejected_kl - chosen_kl.detach())
