# Normalises by hand, and adds discounted advantages from the end.
import torch
import torch.nn.functional as F


def optimal_log_probs(action_values, reference_log_probs, beta):
    scores = reference_log_probs + action_values / beta
    return scores - torch.logsumexp(scores, dim=-1, keepdim=True)


def preference_log_probability(chosen_advantages, rejected_advantages, discount=1.0):
    def total(values):
        result = torch.zeros_like(values[:, 0])
        for column in reversed(values.unbind(dim=1)):
            result = column + discount * result
        return result

    return -F.softplus(total(rejected_advantages) - total(chosen_advantages))
