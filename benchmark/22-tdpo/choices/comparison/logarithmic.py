import torch


def divergence_term(chosen_kl, rejected_kl, alpha, if_tdpo2):
    if not if_tdpo2:
        return rejected_kl - chosen_kl
    return alpha * (torch.log1p(rejected_kl) - torch.log1p(chosen_kl.detach()))
