"""SimPO training: normalised log-probabilities of responses, the reference-free loss, metrics and the training loop."""

from collections.abc import Iterable

import torch
import torch.nn.functional as F
from simpo.data import PAD_TOKEN_ID, PreferenceBatch, pad_to_length
from torch import Tensor, nn

from scripts.simpo_config import ScheduleConfig, SimPOConfig


def reward_lead(chosen_logps: Tensor, rejected_logps: Tensor, beta: float, gamma_beta_ratio: float) -> Tensor:
    """Argument of the sigmoid in the preference model of the paper, for each pair, differentiable.

    Args:
        chosen_logps, rejected_logps: (B,) log-probabilities as in `SimPOTrainer.simpo_loss`.
        beta: beta of the paper, positive.
        gamma_beta_ratio: gamma of the paper divided by `beta`, at least 0.

    Returns:
        (B,), in the dtype of the inputs.
    """
    return beta * (chosen_logps - rejected_logps - gamma_beta_ratio)


class SimPOTrainer:
    """Optimises a language model on preference pairs, without a reference model."""

    def __init__(self, model: nn.Module, config: SimPOConfig) -> None:
        self.model = model
        self.beta = config.beta
        self.gamma_beta_ratio = config.gamma_beta_ratio
        self.label_smoothing = config.label_smoothing
        self.loss_type = config.loss_type
        self.sft_weight = config.sft_weight
        self.label_pad_token_id = config.label_pad_token_id

    def concatenated_inputs(self, batch: PreferenceBatch) -> tuple[Tensor, Tensor]:
        """Put chosen and rejected responses into one batch, so that a single forward pass scores both.

        Returns:
            input_ids, labels: (2B, max(T_w, T_l)) each, the B chosen responses first.
        """
        length = max(batch.chosen_input_ids.size(1), batch.rejected_input_ids.size(1))
        input_ids = [
            pad_to_length(ids, length, PAD_TOKEN_ID) for ids in (batch.chosen_input_ids, batch.rejected_input_ids)
        ]
        labels = [
            pad_to_length(labels, length, self.label_pad_token_id)
            for labels in (batch.chosen_labels, batch.rejected_labels)
        ]
        return torch.cat(input_ids), torch.cat(labels)

    def simpo_loss(self, policy_chosen_logps: Tensor, policy_rejected_logps: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Loss and rewards of each preference pair in a batch.

        The settings are the attributes `beta`, `gamma_beta_ratio`, `label_smoothing` and `loss_type` of the trainer, as
        they are at the time of the call.

        Args:
            policy_chosen_logps: (B,) log-probabilities of the chosen responses under the policy, normalised already, as
                `get_batch_logps` returns them.
            policy_rejected_logps: (B,) the same for the rejected responses.

        Returns:
            losses: (B,) one loss a pair, not reduced.
            chosen_rewards: (B,) rewards of the chosen responses, not detached.
            rejected_rewards: (B,) rewards of the rejected responses, not detached.

        Raises:
            ValueError: `loss_type` is neither "sigmoid" nor "hinge"; the message names these two.
        """
        logits = reward_lead(policy_chosen_logps, policy_rejected_logps, self.beta, self.gamma_beta_ratio)
        if self.loss_type == "sigmoid":
            # The log-sigmoid in one step stays finite where the sigmoid itself underflows.
            losses = -(1 - self.label_smoothing) * F.logsigmoid(logits) - self.label_smoothing * F.logsigmoid(-logits)
        elif self.loss_type == "hinge":
            losses = torch.relu(1 - logits)
        else:
            raise ValueError(f"unknown loss_type {self.loss_type!r}; choose 'sigmoid' or 'hinge'")
        return losses, self.beta * policy_chosen_logps, self.beta * policy_rejected_logps

    def get_batch_logps(self, logits: Tensor, labels: Tensor, normalized: bool = True) -> Tensor:
        """Log-probability of each sequence of labels.

        Args:
            logits: (B, T, V) scores; those at position t predict the label at t + 1.
            labels: (B, T) tokens, `label_pad_token_id` where a position does not count; one or more count in each row.
            normalized: normalise each log-probability as the reward of the paper does; if False, the plain
                log-probability of the whole sequence, which is the sum over the tokens that count.

        Returns:
            (B,) log-probabilities.
        """
        labels = labels[:, 1:]
        counted = labels != self.label_pad_token_id
        # Labels that do not count are no valid index: look up token 0 in their place and drop the result.
        tokens = labels.masked_fill(~counted, 0)
        token_logps = logits[:, :-1].log_softmax(dim=-1).gather(2, tokens.unsqueeze(2)).squeeze(2)
        sequence_logps = (token_logps * counted).sum(dim=1)
        return sequence_logps / counted.sum(dim=1) if normalized else sequence_logps

    def concatenated_forward(self, batch: PreferenceBatch, normalized: bool = True) -> tuple[Tensor, Tensor]:
        """Log-probabilities of the chosen and of the rejected responses under the model, (B,) each."""
        input_ids, labels = self.concatenated_inputs(batch)
        chosen_logps, rejected_logps = self.get_batch_logps(self.model(input_ids), labels, normalized).chunk(2)
        return chosen_logps, rejected_logps

    def get_batch_loss_metrics(self, batch: PreferenceBatch) -> tuple[Tensor, dict[str, float]]:
        """The scalar loss to minimise, and what to report about a batch.

        Accuracy is the share of pairs whose chosen response has the higher reward.
        """
        chosen_logps, rejected_logps = self.concatenated_forward(batch)
        losses, chosen_rewards, rejected_rewards = self.simpo_loss(chosen_logps, rejected_logps)
        loss = losses.mean()
        if self.sft_weight > 0:
            loss = loss - self.sft_weight * chosen_logps.mean()
        return loss, {
            "loss": loss.item(),
            "accuracy": (chosen_rewards > rejected_rewards).float().mean().item(),
            "reward margin": (chosen_rewards - rejected_rewards).mean().item(),
            "chosen reward": chosen_rewards.mean().item(),
            "rejected reward": rejected_rewards.mean().item(),
        }

    @torch.no_grad()
    def evaluate(self, batch: PreferenceBatch) -> dict[str, float]:
        """The metrics of one batch, without gradients."""
        return self.get_batch_loss_metrics(batch)[1]

    def train(self, batches: Iterable[PreferenceBatch], eval_batch: PreferenceBatch, schedule: ScheduleConfig) -> None:
        """Train for some epochs; print the metrics of `eval_batch` before the first epoch and every few epochs.

        Args:
            batches: iterated once an epoch.
        """
        optimizer = torch.optim.AdamW(self.model.parameters(), lr=schedule.learning_rate, weight_decay=0.0)
        self._report(0, eval_batch)
        for epoch in range(1, schedule.epochs + 1):
            for batch in batches:
                loss, _ = self.get_batch_loss_metrics(batch)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            if epoch % schedule.report_every == 0:
                self._report(epoch, eval_batch)

    def _report(self, epoch: int, eval_batch: PreferenceBatch) -> None:
        metrics = "   ".join(f"{name} {value:7.3f}" for name, value in self.evaluate(eval_batch).items())
        print(f"  epoch {epoch:3d}   {metrics}")
