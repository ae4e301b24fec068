import torch
from torch import Tensor


def _cross_entropy(scores: Tensor, other_scores: Tensor) -> Tensor:
    """Negative log-probability of the first of two classes, given their scores."""
    return torch.logaddexp(scores, other_scores) - scores


def simpo_loss(self, policy_chosen_logps: Tensor, policy_rejected_logps: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    rewards = self.beta * torch.stack([policy_chosen_logps, policy_rejected_logps])
    # The margin is a handicap on the chosen response.
    chosen = rewards[0] - self.beta * self.gamma_beta_ratio
    rejected = rewards[1]

    def sigmoid() -> Tensor:
        kept, flipped = _cross_entropy(chosen, rejected), _cross_entropy(rejected, chosen)
        return torch.lerp(kept, flipped, self.label_smoothing)

    def hinge() -> Tensor:
        return torch.maximum(1 + rejected - chosen, chosen.new_zeros(()))

    losses = {"sigmoid": sigmoid, "hinge": hinge}
    if self.loss_type not in losses:
        raise ValueError(f"loss_type {self.loss_type!r} is not one of {', '.join(losses)}")
    return losses[self.loss_type](), rewards[0], rewards[1]
