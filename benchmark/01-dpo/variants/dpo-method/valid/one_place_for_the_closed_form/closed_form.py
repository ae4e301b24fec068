# Weighs the reference's probabilities against each other, largest reward first.
import torch


def optimal_log_policy(reference_logps, rewards, beta):
    scaled = rewards / beta
    largest = scaled.amax(-1, keepdim=True)
    normaliser = (reference_logps.exp() * torch.exp(scaled - largest)).sum(-1, keepdim=True).log() + largest
    return reference_logps + scaled - normaliser
