"""Self-play fine-tuning: the loss of the main player against its opponent, and the training of one iteration."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from spin.alignment.collate import AnswerBatch, AnswerPair, iterate_batches
from spin.alignment.logps import get_batch_logps
from spin.optim import RMSProp, rate_at


@dataclass(frozen=True)
class TrainingConfig:
    """How one iteration of self-play trains."""

    epochs: int
    batch_size: int
    learning_rate: float  # gamma of the paper, the highest one
    reference_free: bool = False  # leave the opponent out of the loss


def pair_margins(
    policy_real_logps: Tensor,
    policy_generated_logps: Tensor,
    opponent_real_logps: Tensor,
    opponent_generated_logps: Tensor,
    beta: float,
) -> Tensor:
    """The argument t of the function l for each pair of a real and a generated answer.

    Args:
        policy_real_logps, policy_generated_logps, opponent_real_logps, opponent_generated_logps: (B,) log-probabilities
            as in `SPINTrainer.spin_loss`.
        beta: lambda of the paper.

    Returns:
        (B,), differentiable.
    """
    policy_margins = policy_real_logps - policy_generated_logps
    return beta * (policy_margins - (opponent_real_logps - opponent_generated_logps))


def convex_function(margins: Tensor, loss_type: str) -> Tensor:
    """The function l of the paper, elementwise; finite for arguments of any size.

    Args:
        margins: arguments t, of any shape.
        loss_type: "sigmoid" or "hinge".

    Raises:
        ValueError: `loss_type` is neither of the two.
    """
    if loss_type == "sigmoid":
        # The log-sigmoid in one step stays finite where the sigmoid itself underflows.
        return -F.logsigmoid(margins)
    if loss_type == "hinge":
        return torch.relu(1 - margins)
    raise ValueError(f"unknown loss_type {loss_type!r}; choose 'sigmoid' or 'hinge'")


class SPINTrainer:
    """Trains a policy, the main player, to tell real answers from those that the opponent wrote.

    Attributes:
        policy: the language model that is trained.
        opponent: the policy as it was when the iteration began; it is not trained.
        beta: lambda of the paper, positive.
        loss_type: the function l of the loss: "sigmoid", the logistic one, or "hinge".
    """

    def __init__(self, policy: nn.Module, opponent: nn.Module, beta: float = 0.1, loss_type: str = "sigmoid") -> None:
        if beta <= 0:
            raise ValueError(f"beta must be positive, not {beta}")
        self.policy = policy
        self.opponent = opponent
        self.beta = beta
        self.loss_type = loss_type

    def spin_loss(
        self,
        policy_real_logps: Tensor,
        policy_generated_logps: Tensor,
        opponent_real_logps: Tensor,
        opponent_generated_logps: Tensor,
        reference_free: bool = False,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Loss and rewards of each pair of a real and a generated answer in a batch.

        A log-probability is that of a whole answer given its prompt, as `get_batch_logps` returns it. The settings are
        the attributes `beta` and `loss_type` of the trainer, as they are at the time of the call.

        Args:
            policy_real_logps: (B,) log-probabilities of the real answers under the policy.
            policy_generated_logps: (B,) log-probabilities of the generated answers under the policy.
            opponent_real_logps: (B,) log-probabilities of the real answers under the opponent, without gradient.
            opponent_generated_logps: (B,) log-probabilities of the generated answers under the opponent, without
                gradient.
            reference_free: leave the opponent out of the loss, as if it found both answers equally likely (not out of
                the rewards).

        Returns:
            losses: (B,) one loss a pair, not reduced; gradients flow to the policy's log-probabilities.
            real_rewards: (B,) the main player's f of Section 4.1 for the real answers, detached, the same whatever
                `loss_type` and `reference_free` are.
            generated_rewards: (B,) the same for the generated answers.

        Raises:
            ValueError: `loss_type` is neither "sigmoid" nor "hinge".
        """
        references = opponent_real_logps, opponent_generated_logps
        if reference_free:
            references = torch.zeros_like(opponent_real_logps), torch.zeros_like(opponent_generated_logps)
        margins = pair_margins(policy_real_logps, policy_generated_logps, *references, self.beta)
        losses = convex_function(margins, self.loss_type)

        real_rewards = self.beta * (policy_real_logps - opponent_real_logps).detach()
        generated_rewards = self.beta * (policy_generated_logps - opponent_generated_logps).detach()
        return losses, real_rewards, generated_rewards

    def concatenated_forward(self, model: nn.Module, batch: AnswerBatch) -> tuple[Tensor, Tensor]:
        """Log-probabilities of the real and of the generated answers of a batch under `model`, (B,) each."""
        real_logps, generated_logps = get_batch_logps(model(batch.input_ids), batch.labels).chunk(2)
        return real_logps, generated_logps

    def get_batch_metrics(self, batch: AnswerBatch, reference_free: bool = False) -> tuple[Tensor, dict[str, float]]:
        """The scalar loss to minimise, and what to report about a batch.

        The opponent takes part without gradients. The report has the keys "loss", "accuracy" (share of pairs whose real
        answer has the higher reward), "real reward" and "generated reward" (means).
        """
        policy_logps = self.concatenated_forward(self.policy, batch)
        with torch.no_grad():
            opponent_logps = self.concatenated_forward(self.opponent, batch)
        losses, real_rewards, generated_rewards = self.spin_loss(*policy_logps, *opponent_logps, reference_free)
        loss = losses.mean()
        return loss, {
            "loss": loss.item(),
            "accuracy": (real_rewards > generated_rewards).float().mean().item(),
            "real reward": real_rewards.mean().item(),
            "generated reward": generated_rewards.mean().item(),
        }

    def train(self, pairs: Sequence[AnswerPair], config: TrainingConfig, rng: Random) -> list[float]:
        """Train the policy for one iteration; each epoch is one pass of `iterate_batches`.

        Args:
            pairs: what to train on.
            config: the settings.
            rng: of the batches.

        Returns:
            The loss of each batch, from before the update.
        """
        optimizer = RMSProp(self.policy.parameters())
        total_steps = config.epochs * math.ceil(len(pairs) / config.batch_size)
        losses: list[float] = []
        for _ in range(config.epochs):
            for batch in iterate_batches(pairs, config.batch_size, rng):
                loss, _ = self.get_batch_metrics(batch, config.reference_free)
                losses.append(loss.item())
                optimizer.zero_grad()
                loss.backward()
                optimizer.step(rate_at(len(losses), config.learning_rate, total_steps))
        return losses
