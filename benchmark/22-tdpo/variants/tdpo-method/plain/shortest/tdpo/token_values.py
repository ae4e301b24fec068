# The equations, a line each.
import torch
import torch.nn.functional as F


def advantages(action_values, reference_log_probs):
    return action_values - (reference_log_probs.exp() * action_values).sum(-1, keepdim=True)


def optimal_log_probs(action_values, reference_log_probs, beta):
    log_z = torch.logsumexp(reference_log_probs + action_values / beta, -1, keepdim=True)
    return reference_log_probs + action_values / beta - log_z


def preference_log_probability(chosen_advantages, rejected_advantages, discount=1.0):
    difference = 0
    for t in range(chosen_advantages.shape[1]):
        difference = difference + discount**t * chosen_advantages[:, t]
    for t in range(rejected_advantages.shape[1]):
        difference = difference - discount**t * rejected_advantages[:, t]
    return F.logsigmoid(difference)
