"""The preference loss of pairs, and small trainers for supervised fine-tuning and direct preference optimisation."""

import random
from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from preference_datasets import IGNORE_LABEL, PAD_TOKEN, PreferenceBatch, PreferencePair, collate, iterate_batches
from torch import Tensor, nn
from utils import format_metrics, pad_to_length


@dataclass(frozen=True)
class OptimizerConfig:
    """How long and how fast one stage trains."""

    epochs: int
    batch_size: int
    learning_rate: float
    report_every: int  # epochs between two printed evaluations


@dataclass(frozen=True)
class LossConfig:
    """The options of `preference_loss`; `beta` has no default because the right value depends on data and model."""

    beta: float
    label_smoothing: float = 0.0
    ipo: bool = False
    reference_free: bool = False

    def __post_init__(self) -> None:
        if self.beta <= 0:
            raise ValueError(f"beta must be positive, not {self.beta}")
        if not 0 <= self.label_smoothing < 0.5:
            raise ValueError(f"label_smoothing must be in [0, 0.5), not {self.label_smoothing}")


def implicit_reward(policy_logps: Tensor, reference_logps: Tensor, beta: float) -> Tensor:
    """Implicit reward of each response, differentiable.

    Args:
        policy_logps: (B,) log-probabilities of the responses under the policy that is trained.
        reference_logps: (B,) log-probabilities of the same responses under the frozen reference model.
        beta: beta of the paper, positive.

    Returns:
        (B,), in the dtype of the inputs.
    """
    return beta * (policy_logps - reference_logps)


def reward_margin(
    policy_chosen_logps: Tensor,
    policy_rejected_logps: Tensor,
    reference_chosen_logps: Tensor,
    reference_rejected_logps: Tensor,
) -> Tensor:
    """Implicit reward of the chosen response less that of the rejected one at beta = 1, for each pair, differentiable.

    Args:
        policy_chosen_logps, policy_rejected_logps, reference_chosen_logps, reference_rejected_logps: (B,) each, as in
            `preference_loss`.

    Returns:
        (B,), in the dtype of the inputs.
    """
    policy_log_ratios = policy_chosen_logps - policy_rejected_logps
    reference_log_ratios = reference_chosen_logps - reference_rejected_logps
    return policy_log_ratios - reference_log_ratios


def pair_loss(margin: Tensor) -> Tensor:
    """Loss of each preference pair, given the margin of its rewards.

    Args:
        margin: (B,) reward of the chosen response less that of the rejected one, from -10,000 to 10,000.

    Returns:
        (B,), finite and not reduced, differentiable.
    """
    # The log-sigmoid in one step stays finite where the sigmoid itself underflows.
    return -F.logsigmoid(margin)


def preference_loss(
    policy_chosen_logps: Tensor,
    policy_rejected_logps: Tensor,
    reference_chosen_logps: Tensor,
    reference_rejected_logps: Tensor,
    beta: float,
    label_smoothing: float = 0.0,
    ipo: bool = False,
    reference_free: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """Loss and implicit rewards of each preference pair in a batch.

    A log-probability is that of a whole response given its prompt, as the paper measures it.

    Args:
        policy_chosen_logps: (B,) log-probabilities of the chosen responses under the policy that is trained.
        policy_rejected_logps: (B,) log-probabilities of the rejected responses under the policy.
        reference_chosen_logps: (B,) log-probabilities of the chosen responses under the frozen reference model.
        reference_rejected_logps: (B,) log-probabilities of the rejected responses under the reference model.
        beta: strength of the implicit KL constraint towards the reference, positive.
        label_smoothing: assumed probability, in [0, 0.5), that a label is the wrong way round; 0 gives plain DPO.
        ipo: the squared IPO loss in place of the paper's; it does not depend on `label_smoothing`.
        reference_free: leave the reference model out of the loss (not out of the rewards).

    Returns:
        losses: (B,) one loss a pair, not reduced; gradients flow to the policy's log-probabilities.
        chosen_rewards: (B,) implicit rewards of the chosen responses, detached, the same whatever the three flags are.
        rejected_rewards: (B,) implicit rewards of the rejected responses, likewise.
    """
    policy = policy_chosen_logps, policy_rejected_logps
    reference = reference_chosen_logps, reference_rejected_logps
    margins = reward_margin(*policy, *(torch.zeros_like(logps) if reference_free else logps for logps in reference))

    if ipo:
        losses = (margins - 1 / (2 * beta)) ** 2
    else:
        losses = (1 - label_smoothing) * pair_loss(beta * margins) + label_smoothing * pair_loss(-beta * margins)

    chosen_rewards = implicit_reward(policy_chosen_logps, reference_chosen_logps, beta).detach()
    rejected_rewards = implicit_reward(policy_rejected_logps, reference_rejected_logps, beta).detach()
    return losses, chosen_rewards, rejected_rewards


def get_batch_logps(logits: Tensor, labels: Tensor, average_log_prob: bool = False) -> Tensor:
    """Log-probability of each sequence of labels.

    Args:
        logits: (B, T, V) scores; those at position t predict the label at t + 1.
        labels: (B, T) tokens; positions labelled IGNORE_LABEL do not count.
        average_log_prob: the mean over the counted tokens instead of their sum.

    Returns:
        (B,) log-probabilities.
    """
    labels = labels[:, 1:]
    counted = labels != IGNORE_LABEL
    # Ignored labels are no valid index: look up token 0 in their place and drop the result.
    tokens = labels.masked_fill(~counted, 0)
    token_logps = logits[:, :-1].log_softmax(dim=-1).gather(2, tokens.unsqueeze(2)).squeeze(2)
    sequence_logps = (token_logps * counted).sum(dim=1)
    return sequence_logps / counted.sum(dim=1) if average_log_prob else sequence_logps


def concatenated_inputs(batch: PreferenceBatch) -> tuple[Tensor, Tensor]:
    """Put the chosen and the rejected responses of a batch into one, so that one forward pass scores both.

    Returns:
        input_ids, labels: (2B, max(T_w, T_l)) each, the B chosen responses first.
    """
    length = max(batch.chosen_input_ids.size(1), batch.rejected_input_ids.size(1))
    input_ids = [pad_to_length(ids, length, PAD_TOKEN) for ids in (batch.chosen_input_ids, batch.rejected_input_ids)]
    labels = [pad_to_length(labels, length, IGNORE_LABEL) for labels in (batch.chosen_labels, batch.rejected_labels)]
    return torch.cat(input_ids), torch.cat(labels)


def concatenated_forward(model: nn.Module, batch: PreferenceBatch) -> tuple[Tensor, Tensor]:
    """Log-probabilities of the chosen and of the rejected responses, (B,) each, as the paper measures them.

    `model` is called once, on both kinds of responses together.
    """
    input_ids, labels = concatenated_inputs(batch)
    chosen_logps, rejected_logps = get_batch_logps(model(input_ids).logits, labels).chunk(2)
    return chosen_logps, rejected_logps


def losses_and_rewards(
    policy: nn.Module, reference: nn.Module, batch: PreferenceBatch, config: LossConfig
) -> tuple[Tensor, Tensor, Tensor]:
    """Losses, chosen rewards and rejected rewards of a batch under two models, (B,) each."""
    policy_chosen_logps, policy_rejected_logps = concatenated_forward(policy, batch)
    with torch.no_grad():
        reference_chosen_logps, reference_rejected_logps = concatenated_forward(reference, batch)
    return preference_loss(
        policy_chosen_logps=policy_chosen_logps,
        policy_rejected_logps=policy_rejected_logps,
        reference_chosen_logps=reference_chosen_logps,
        reference_rejected_logps=reference_rejected_logps,
        beta=config.beta,
        label_smoothing=config.label_smoothing,
        ipo=config.ipo,
        reference_free=config.reference_free,
    )


class BasicTrainer(ABC):
    """Train a policy on preference pairs; a subclass says with which loss."""

    def __init__(self, policy: nn.Module, config: OptimizerConfig) -> None:
        self.policy = policy
        self.config = config
        self.optimizer = torch.optim.AdamW(policy.parameters(), lr=config.learning_rate, weight_decay=0.0)

    @abstractmethod
    def get_batch_metrics(self, batch: PreferenceBatch) -> tuple[Tensor, dict[str, float]]:
        """The scalar loss to minimise, and what to report about the batch."""

    def train(self, train_pairs: list[PreferencePair], eval_pairs: list[PreferencePair], seed: int) -> None:
        """Run all epochs, printing the metrics on the held-out pairs before the first one and every few epochs."""
        rng = random.Random(seed)
        self._report(0, eval_pairs)
        for epoch in range(1, self.config.epochs + 1):
            for batch in iterate_batches(train_pairs, self.config.batch_size, rng):
                loss, _ = self.get_batch_metrics(batch)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
            if epoch % self.config.report_every == 0:
                self._report(epoch, eval_pairs)

    @torch.no_grad()
    def evaluate(self, pairs: list[PreferencePair]) -> dict[str, float]:
        """Metrics on all pairs, as one batch."""
        return self.get_batch_metrics(collate(pairs))[1]

    def _report(self, epoch: int, eval_pairs: list[PreferencePair]) -> None:
        print(f"  epoch {epoch:3d}   {format_metrics(self.evaluate(eval_pairs))}")


class SFTTrainer(BasicTrainer):
    """Supervised fine-tuning on the chosen responses: mean cross-entropy a token, then mean over the batch."""

    def get_batch_metrics(self, batch: PreferenceBatch) -> tuple[Tensor, dict[str, float]]:
        """Cross-entropy of the chosen responses."""
        logits = self.policy(batch.chosen_input_ids).logits
        loss = -get_batch_logps(logits, batch.chosen_labels, average_log_prob=True).mean()
        return loss, {"loss": loss.item()}


class DPOTrainer(BasicTrainer):
    """Direct preference optimisation of a policy against a frozen reference model."""

    def __init__(
        self, policy: nn.Module, reference: nn.Module, optimizer_config: OptimizerConfig, loss_config: LossConfig
    ) -> None:
        super().__init__(policy, optimizer_config)
        self.reference = reference.eval().requires_grad_(False)
        self.loss_config = loss_config

    def get_batch_metrics(self, batch: PreferenceBatch) -> tuple[Tensor, dict[str, float]]:
        """Mean preference loss; accuracy is the share of pairs whose chosen response has the higher implicit reward."""
        losses, chosen_rewards, rejected_rewards = self.get_losses_and_rewards(batch)
        loss = losses.mean()
        return loss, {
            "loss": loss.item(),
            "accuracy": (chosen_rewards > rejected_rewards).float().mean().item(),
            "margin": (chosen_rewards - rejected_rewards).mean().item(),
            "chosen reward": chosen_rewards.mean().item(),
            "rejected reward": rejected_rewards.mean().item(),
        }

    def get_losses_and_rewards(self, batch: PreferenceBatch) -> tuple[Tensor, Tensor, Tensor]:
        """Losses, chosen rewards and rejected rewards of a batch, (B,) each."""
        return losses_and_rewards(self.policy, self.reference, batch, self.loss_config)
