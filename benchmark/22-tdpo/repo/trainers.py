"""The TDPO loss, and small trainers for supervised fine-tuning and token-level direct preference optimisation."""

import random
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from tdpo.batching import IGNORE_LABEL, PreferenceBatch, Tokenizer, collate, iterate_batches
from tdpo.data import PreferencePair
from tdpo.logprobs import get_batch_statistics
from torch import Tensor, nn


@dataclass(frozen=True)
class OptimizerConfig:
    """How long and how fast one stage trains."""

    epochs: int
    batch_size: int
    learning_rate: float
    report_every: int  # epochs between two printed evaluations


@dataclass(frozen=True)
class LossConfig:
    """The options of `tdpo_loss`, with its defaults; `beta` has none because the right value depends on the model."""

    beta: float
    alpha: float = 0.5
    if_tdpo2: bool = True

    def __post_init__(self) -> None:
        if self.beta <= 0:
            raise ValueError(f"beta must be positive, not {self.beta}")
        if self.alpha < 0:
            raise ValueError(f"alpha must not be negative, as {self.alpha} is")


def divergence_term(chosen_kl: Tensor, rejected_kl: Tensor, alpha: float, if_tdpo2: bool) -> Tensor:
    """Subtrahend of each pair, in which the two losses of the paper differ, over beta.

    Args:
        chosen_kl, rejected_kl: (B,) sequential divergences along the chosen and the rejected responses.
        alpha: alpha of the paper, at least 0; TDPO1 has no alpha.
        if_tdpo2: TDPO2 if true, TDPO1 if false.

    Returns:
        (B,), differentiable as the paper says: what is subtracted inside the sigmoid, at beta = 1.
    """
    if not if_tdpo2:
        return rejected_kl - chosen_kl
    # The chosen side is a fixed mark for the rejected side: its divergence is free to grow with the preference.
    return alpha * (rejected_kl - chosen_kl.detach())


def pair_loss(argument: Tensor) -> Tensor:
    """Loss of each pair, given the argument of the sigmoid in the preference model.

    Args:
        argument: (B,), from -10,000 to 10,000.

    Returns:
        (B,), finite and not reduced, differentiable.
    """
    # The log-sigmoid in one step stays finite where the sigmoid itself underflows.
    return -F.logsigmoid(argument)


def response_reward(logps_margin: Tensor, position_kl: Tensor, beta: float) -> Tensor:
    """Reward of each response that training reports, differentiable.

    Args:
        logps_margin, position_kl: (B,) each, as in `ResponseStatistics`.
        beta: beta of the paper, positive.

    Returns:
        (B,).
    """
    return beta * (logps_margin + position_kl)


def tdpo_loss(
    chosen_logps_margin: Tensor,
    rejected_logps_margin: Tensor,
    chosen_position_kl: Tensor,
    rejected_position_kl: Tensor,
    beta: float,
    alpha: float = 0.5,
    if_tdpo2: bool = True,
) -> tuple[Tensor, Tensor, Tensor]:
    """Token-level DPO loss and rewards of each preference pair in a batch.

    `tdpo.logprobs.get_batch_statistics` computes the four values of each pair from logits.

    Args:
        chosen_logps_margin: (B,) log-probabilities of the chosen responses under the policy relative to the reference.
        rejected_logps_margin: (B,) the same for the rejected responses.
        chosen_position_kl: (B,) sequential divergences of the paper along the chosen responses.
        rejected_position_kl: (B,) the same along the rejected responses.
        beta: strength of the KL constraint towards the reference, positive.
        alpha: alpha of the paper, at least 0; TDPO1 does not use it.
        if_tdpo2: TDPO2 if true, TDPO1 if false.

    Returns:
        losses: (B,) one loss a pair, not reduced.
        chosen_rewards: (B,) rewards of the chosen responses to report (see README.md), detached, the same whatever
            `alpha` and `if_tdpo2` are.
        rejected_rewards: (B,) rewards of the rejected responses, likewise.
    """
    margins = chosen_logps_margin - rejected_logps_margin
    margins = margins - divergence_term(chosen_position_kl, rejected_position_kl, alpha, if_tdpo2)
    losses = pair_loss(beta * margins)

    chosen_rewards = response_reward(chosen_logps_margin, chosen_position_kl, beta).detach()
    rejected_rewards = response_reward(rejected_logps_margin, rejected_position_kl, beta).detach()
    return losses, chosen_rewards, rejected_rewards


class BasicTrainer(ABC):
    """Train a policy on preference pairs; a subclass says with which loss."""

    def __init__(self, policy: nn.Module, tokenizer: Tokenizer, config: OptimizerConfig) -> None:
        self.policy = policy
        self.tokenizer = tokenizer
        self.config = config
        self.optimizer = torch.optim.AdamW(policy.parameters(), lr=config.learning_rate, weight_decay=0.0)

    @abstractmethod
    def get_batch_metrics(self, batch: PreferenceBatch) -> tuple[Tensor, dict[str, float]]:
        """The scalar loss to minimise, and what to report about the batch."""

    def train(self, train_pairs: Sequence[PreferencePair], eval_pairs: Sequence[PreferencePair], seed: int) -> None:
        """Run all epochs, printing the metrics on the held-out pairs before the first one and every few epochs."""
        rng = random.Random(seed)
        self._report(0, eval_pairs)
        for epoch in range(1, self.config.epochs + 1):
            for batch in iterate_batches(train_pairs, self.tokenizer, self.config.batch_size, rng):
                loss, _ = self.get_batch_metrics(batch)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
            if epoch % self.config.report_every == 0:
                self._report(epoch, eval_pairs)

    @torch.no_grad()
    def evaluate(self, pairs: Sequence[PreferencePair]) -> dict[str, float]:
        """Metrics on all pairs, as one batch."""
        return self.get_batch_metrics(collate(pairs, self.tokenizer))[1]

    def _report(self, epoch: int, eval_pairs: Sequence[PreferencePair]) -> None:
        metrics = self.evaluate(eval_pairs)
        print(f"  epoch {epoch:2d}   " + "   ".join(f"{name} {value:7.4f}" for name, value in metrics.items()))


class SFTTrainer(BasicTrainer):
    """Supervised fine-tuning on chosen and rejected responses alike: mean cross-entropy a token."""

    def get_batch_metrics(self, batch: PreferenceBatch) -> tuple[Tensor, dict[str, float]]:
        """Cross-entropy of the responses."""
        logits = self.policy(batch.input_ids)
        loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), batch.labels[:, 1:].flatten(), ignore_index=IGNORE_LABEL)
        return loss, {"loss": loss.item()}


class TDPOTrainer(BasicTrainer):
    """Token-level direct preference optimisation of a policy against a frozen reference model."""

    def __init__(
        self,
        policy: nn.Module,
        reference: nn.Module,
        tokenizer: Tokenizer,
        optimizer_config: OptimizerConfig,
        loss_config: LossConfig,
    ) -> None:
        super().__init__(policy, tokenizer, optimizer_config)
        self.reference = reference
        self.loss_config = loss_config

    def get_batch_metrics(self, batch: PreferenceBatch) -> tuple[Tensor, dict[str, float]]:
        """Loss of a batch, a scalar with gradients to the policy, and its metrics.

        Returns:
            The mean of the losses, and a dictionary of numbers: `loss`; `accuracy`, the share of pairs whose chosen
            response has the higher reward; and the means over pairs of `reward margin` (chosen less rejected reward),
            `chosen KL` and `rejected KL` (the sequential divergences).
        """
        logits = self.policy(batch.input_ids)
        with torch.no_grad():
            reference_logits = self.reference(batch.input_ids)
        statistics = get_batch_statistics(logits, reference_logits, batch.labels)
        chosen_margins, rejected_margins = statistics.logps_margin.chunk(2)
        chosen_kl, rejected_kl = statistics.position_kl.chunk(2)
        losses, chosen_rewards, rejected_rewards = tdpo_loss(
            chosen_margins,
            rejected_margins,
            chosen_kl,
            rejected_kl,
            beta=self.loss_config.beta,
            alpha=self.loss_config.alpha,
            if_tdpo2=self.loss_config.if_tdpo2,
        )
        loss = losses.mean()
        return loss, {
            "loss": loss.item(),
            "accuracy": (chosen_rewards > rejected_rewards).float().mean().item(),
            "reward margin": (chosen_rewards - rejected_rewards).mean().item(),
            "chosen KL": chosen_kl.mean().item(),
            "rejected KL": rejected_kl.mean().item(),
        }
