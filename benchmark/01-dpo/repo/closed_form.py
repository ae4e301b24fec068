"""The closed-form solution of reward maximisation, for prompts whose responses can all be listed."""

from torch import Tensor


def optimal_log_policy(reference_logps: Tensor, rewards: Tensor, beta: float) -> Tensor:
    """Log-probabilities of all responses under the optimal policy.

    Args:
        reference_logps: (..., N) log-probabilities of all responses to a prompt under the reference model.
        rewards: (..., N) rewards r of the same responses.
        beta: beta of the paper, positive.

    Returns:
        (..., N), finite where `rewards` / `beta` is as large as 1000.
    """
    log_weights = reference_logps + rewards / beta
    return log_weights - log_weights.logsumexp(dim=-1, keepdim=True)
