"""Self-play fine-tuning: the loss of the main player against its previous iterate, and the training loop."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from spin.alignment.collate import AnswerBatch, AnswerPair, collate_pairs
from spin.alignment.logps import get_batch_logps


@dataclass(frozen=True)
class TrainingConfig:
    """How one iteration of self-play trains."""

    epochs: int
    batch_size: int
    learning_rate: float
    reference_free: bool = False  # leave the opponent out of the loss


class SPINTrainer:
    """Trains a policy, the main player, to tell real answers from those that the opponent wrote.

    Attributes:
        policy: the language model that is trained.
        opponent: the policy as it was when the iteration began; it is not trained.
        beta: scale of the log-probability ratios, positive; the paper calls it lambda.
        loss_type: the convex function of the loss: "sigmoid", the logistic one, or "hinge".
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

        A log-probability is that of a whole answer given its prompt: the sum over the answer's tokens. The settings are
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
        margins = policy_real_logps - policy_generated_logps
        if not reference_free:
            margins = margins - (opponent_real_logps - opponent_generated_logps)
        logits = self.beta * margins

        if self.loss_type == "sigmoid":
            # The log-sigmoid in one step stays finite where the sigmoid itself underflows.
            losses = -F.logsigmoid(logits)
        elif self.loss_type == "hinge":
            losses = torch.relu(1 - logits)
        else:
            raise ValueError(f"unknown loss_type {self.loss_type!r}; choose 'sigmoid' or 'hinge'")

        real_rewards = self.beta * (policy_real_logps - opponent_real_logps).detach()
        generated_rewards = self.beta * (policy_generated_logps - opponent_generated_logps).detach()
        return losses, real_rewards, generated_rewards

    def concatenated_forward(self, model: nn.Module, batch: AnswerBatch) -> tuple[Tensor, Tensor]:
        """Log-probabilities of the real and of the generated answers of a batch under `model`, (B,) each."""
        real_logps, generated_logps = get_batch_logps(model(batch.input_ids), batch.labels).chunk(2)
        return real_logps, generated_logps

    def get_batch_metrics(self, batch: AnswerBatch, reference_free: bool = False) -> tuple[Tensor, dict[str, float]]:
        """The scalar loss to minimise, and what to report about a batch.

        Accuracy is the share of pairs whose real answer has the higher reward.
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

    def train(self, pairs: Sequence[AnswerPair], config: TrainingConfig, rng: Random) -> None:
        """Run all epochs of one iteration, and print the metrics on all pairs before and after each."""
        optimizer = torch.optim.AdamW(self.policy.parameters(), lr=config.learning_rate, weight_decay=0.0)
        self._report(0, pairs, config)
        for epoch in range(1, config.epochs + 1):
            shuffled = rng.sample(pairs, k=len(pairs))
            for start in range(0, len(shuffled), config.batch_size):
                batch = collate_pairs(shuffled[start : start + config.batch_size])
                loss, _ = self.get_batch_metrics(batch, config.reference_free)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            self._report(epoch, pairs, config)

    @torch.no_grad()
    def _report(self, epoch: int, pairs: Sequence[AnswerPair], config: TrainingConfig) -> None:
        _, metrics = self.get_batch_metrics(collate_pairs(pairs), config.reference_free)
        print(f"  epoch {epoch}   " + "   ".join(f"{name} {value:7.4f}" for name, value in metrics.items()))
