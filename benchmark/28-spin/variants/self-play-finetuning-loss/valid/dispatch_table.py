import torch
import torch.nn.functional as F
from torch import Tensor


def _logistic(scores: Tensor) -> Tensor:
    return F.binary_cross_entropy_with_logits(scores, torch.ones_like(scores), reduction="none")


def _hinge(scores: Tensor) -> Tensor:
    return torch.where(scores < 1, 1 - scores, torch.zeros_like(scores))


_LOSS_FUNCTIONS = {"sigmoid": _logistic, "hinge": _hinge}


def spin_loss(
    self,
    policy_real_logps: Tensor,
    policy_generated_logps: Tensor,
    opponent_real_logps: Tensor,
    opponent_generated_logps: Tensor,
    reference_free: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    try:
        loss_function = _LOSS_FUNCTIONS[self.loss_type]
    except KeyError:
        raise ValueError(f"loss_type must be one of {sorted(_LOSS_FUNCTIONS)}, not {self.loss_type!r}") from None
    opponent_ratios = opponent_real_logps - opponent_generated_logps
    if reference_free:
        opponent_ratios = torch.zeros_like(opponent_ratios)
    losses = loss_function(self.beta * (policy_real_logps - policy_generated_logps - opponent_ratios))
    real_rewards = (policy_real_logps.detach() - opponent_real_logps.detach()) * self.beta
    generated_rewards = (policy_generated_logps.detach() - opponent_generated_logps.detach()) * self.beta
    return losses, real_rewards, generated_rewards
