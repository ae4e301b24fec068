"""Writing as a decision process: advantages of tokens, the optimal policy at a state, and the preferences that follow.

A state is a prompt with the tokens so far; the actions are the V tokens that may follow.
"""

import torch
import torch.nn.functional as F
from torch import Tensor


def advantages(action_values: Tensor, reference_log_probs: Tensor) -> Tensor:
    """Advantage A of each token at each state under the reference model.

    Args:
        action_values: (..., V) values Q of the tokens under the reference model.
        reference_log_probs: (..., V) normalised log-probabilities of the tokens under the reference model.

    Returns:
        (..., V).
    """
    state_values = (reference_log_probs.exp() * action_values).sum(dim=-1, keepdim=True)
    return action_values - state_values


def optimal_log_probs(action_values: Tensor, reference_log_probs: Tensor, beta: float) -> Tensor:
    """Log-probabilities of the tokens under the optimal policy at each state.

    Args:
        action_values: (..., V) values Q of the tokens under the reference model.
        reference_log_probs: (..., V) normalised log-probabilities under the reference model.
        beta: beta of the paper, positive.

    Returns:
        (..., V), normalised and finite where `action_values` / `beta` is as large as 1000.
    """
    return (reference_log_probs + action_values / beta).log_softmax(dim=-1)


def preference_log_probability(chosen_advantages: Tensor, rejected_advantages: Tensor, discount: float = 1.0) -> Tensor:
    """Log of the probability that the chosen response is preferred, given the advantages along both responses.

    Args:
        chosen_advantages: (B, T) advantages of the tokens of the chosen responses, 0 on padding at the end.
        rejected_advantages: (B, S) the same for the rejected responses; S may differ from T.
        discount: gamma of the paper, above 0 and at most 1.

    Returns:
        (B,).
    """
    totals = []
    for values in (chosen_advantages, rejected_advantages):
        powers = discount ** torch.arange(values.size(1), dtype=values.dtype, device=values.device)
        totals.append((powers * values).sum(dim=1))
    return F.logsigmoid(totals[0] - totals[1])
