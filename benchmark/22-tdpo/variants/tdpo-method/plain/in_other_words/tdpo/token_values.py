# Uses softmax and einsum.
import torch
import torch.nn.functional as F


def advantages(action_values, reference_log_probs):
    state = torch.einsum("...v,...v->...", reference_log_probs.exp(), action_values)
    return action_values - state.unsqueeze(-1)


def optimal_log_probs(action_values, reference_log_probs, beta):
    return F.log_softmax(action_values / beta + reference_log_probs, dim=-1)
