"""The controlled experiment: a known reward labels sampled completions, and training traces reward and divergence."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from model import LanguageModelOutput
from preference_datasets import END_TOKEN, IGNORE_LABEL, PAD_TOKEN, PreferenceBatch
from torch import Tensor, nn
from trainers import LossConfig, concatenated_forward, losses_and_rewards


@dataclass(frozen=True)
class SentimentTask:
    """Prompts and responses of random words, and the reward that a classifier of their sentiment gives."""

    seed: int
    vocabulary_size: int = 12
    prompt_length: int = 2
    max_response: int = 5

    def prompts(self, count: int, generator: torch.Generator) -> Tensor:
        """(count, prompt_length) random words; the special tokens are no words."""
        shape = (count, self.prompt_length)
        return torch.randint(END_TOKEN + 1, self.vocabulary_size, shape, generator=generator)

    def reward(self, responses: "Responses") -> Tensor:
        """(N,) float64 probability, under the classifier, that prompt and response are positive."""
        generator = torch.Generator().manual_seed(self.seed)
        sentiment = torch.randn(self.vocabulary_size, generator=generator, dtype=torch.float64)
        sentiment[PAD_TOKEN] = 0.0
        return sentiment[responses.input_ids].sum(dim=1).sigmoid()


@dataclass(frozen=True)
class Responses:
    """N prompts with one response each, padded on the right."""

    input_ids: Tensor  # (N, T) int64
    labels: Tensor  # (N, T) int64, IGNORE_LABEL on prompt and padding

    def __getitem__(self, rows: Tensor) -> "Responses":
        return Responses(self.input_ids[rows], self.labels[rows])

    def batch_with(self, rejected: "Responses") -> PreferenceBatch:
        """Pairs of which these responses are the chosen ones."""
        return PreferenceBatch(self.input_ids, self.labels, rejected.input_ids, rejected.labels)


@torch.no_grad()
def sample(model: nn.Module, prompts: Tensor, max_response: int, generator: torch.Generator) -> Responses:
    """One response to each prompt (N, prompt length), which ends with the end token or after `max_response` tokens."""
    input_ids, labels = prompts, torch.full_like(prompts, IGNORE_LABEL)
    ended = torch.zeros(len(prompts), 1, dtype=torch.bool)
    for _ in range(max_response):
        probabilities = model(input_ids).logits[:, -1].softmax(dim=-1)
        token = torch.multinomial(probabilities, 1, generator=generator)
        input_ids = torch.cat([input_ids, token.masked_fill(ended, PAD_TOKEN)], dim=1)
        labels = torch.cat([labels, token.masked_fill(ended, IGNORE_LABEL)], dim=1)
        ended = ended | (token == END_TOKEN)
    return Responses(input_ids, labels)


def preference_pairs(rewards: Tensor) -> Tensor:
    """Pairs of completions that are labelled by their rewards.

    Two completions to the same prompt form a pair at most once; completions of equal reward form none.

    Args:
        rewards: (P, K) rewards of K completions to each of P prompts. Completion k to prompt p has the index p K + k.

    Returns:
        (N, 2) int64 indices, the chosen completion first; the order of the rows does not matter.
    """
    first, second = torch.combinations(torch.arange(rewards.size(1))).unbind(dim=1)
    ahead = rewards[:, first] > rewards[:, second]
    offsets = rewards.size(1) * torch.arange(len(rewards)).unsqueeze(1)
    chosen = offsets + torch.where(ahead, first, second)
    rejected = offsets + torch.where(ahead, second, first)
    differ = rewards[:, first] != rewards[:, second]
    return torch.stack([chosen[differ], rejected[differ]], dim=1)


def learning_rate(step: int, peak: float, warmup_steps: int) -> float:
    """Learning rate of a step of preference optimisation.

    Args:
        step: number of the step, from 1.
        peak: the largest learning rate.
        warmup_steps: length of the warm-up in steps, at least 1.
    """
    return peak * min(1.0, step / warmup_steps)


def sequence_kl(policy_logits: Tensor, reference_logits: Tensor, labels: Tensor) -> Tensor:
    """Sequence-level KL divergence of each response, as the frontier reports it.

    Args:
        policy_logits: (B, T, V) scores under the policy; those at position t predict the label at t + 1.
        reference_logits: (B, T, V) scores under the reference model, likewise.
        labels: (B, T) tokens, IGNORE_LABEL where a position belongs to no response.

    Returns:
        (B,), in the dtype of the logits.
    """
    policy_log_probs = policy_logits[:, :-1].log_softmax(dim=-1)
    reference_log_probs = reference_logits[:, :-1].log_softmax(dim=-1)
    divergence = (policy_log_probs.exp() * (policy_log_probs - reference_log_probs)).sum(dim=-1)
    return (divergence * (labels[:, 1:] != IGNORE_LABEL)).sum(dim=1)


@dataclass(frozen=True)
class FrontierConfig:
    """Sizes of the controlled experiment."""

    train_prompts: int = 16
    test_prompts: int = 32
    completions: int = 4  # to each training prompt
    batch_size: int = 16
    reference_steps: int = 10  # of fitting the reference model
    steps: int = 80  # of preference optimisation
    learning_rate: float = 5e-4  # the peak of the schedule
    warmup_steps: int = 20
    evaluate_every: int = 20
    seed: int = 0


@dataclass(frozen=True)
class FrontierPoint:
    """One point of a frontier, after a step; both values are scalar tensors without gradients, in float64."""

    step: int
    reward: Tensor
    kl: Tensor


class ControlledRun:
    """One run of preference optimisation under a known reward.

    The completions of the training prompts are sampled once, at the start. Then come `fit_reference` and `train`.

    Args:
        policy, reference: language models in float64 with the same weights at the start, which sample the completions.
        task: the prompts and the reward.
        loss_config: options of the preference loss.
        config: sizes.

    Attributes:
        completions: Responses (train_prompts * completions), those to one prompt side by side.
        rewards: (train_prompts, completions) their rewards.
        pairs: (N, 2) indices into `completions`, the chosen one first.
    """

    def __init__(
        self,
        policy: nn.Module,
        reference: nn.Module,
        task: SentimentTask,
        loss_config: LossConfig,
        config: FrontierConfig,
    ) -> None:
        self.policy, self.reference = policy, reference.eval().requires_grad_(False)
        self.task, self.loss_config, self.config = task, loss_config, config
        generator = torch.Generator().manual_seed(config.seed)
        prompts = task.prompts(config.train_prompts, generator).repeat_interleave(config.completions, dim=0)
        self.completions = sample(reference, prompts, task.max_response, generator)
        self.rewards = task.reward(self.completions).view(config.train_prompts, config.completions)
        self.pairs = torch.unique(preference_pairs(self.rewards), dim=0)  # in a fixed order

    def batches(self) -> Iterator[PreferenceBatch]:
        """Shuffled batches without end; a pass over the pairs drops its last, smaller batch."""
        generator = torch.Generator().manual_seed(self.config.seed + 1)
        size = min(self.config.batch_size, len(self.pairs))
        while True:
            order = torch.randperm(len(self.pairs), generator=generator)
            for rows in order[: len(order) - len(order) % size].split(size):
                chosen, rejected = self.pairs[rows].unbind(dim=1)
                yield self.completions[chosen].batch_with(self.completions[rejected])

    def test_responses(self) -> Responses:
        """One response of the present policy to each test prompt; each call uses the same random numbers."""
        generator = torch.Generator().manual_seed(self.config.seed + 2)
        prompts = self.task.prompts(self.config.test_prompts, generator)
        return sample(self.policy, prompts, self.task.max_response, generator)

    def logits(self, model: nn.Module, responses: Responses) -> Tensor:
        """(N, T, vocabulary_size) scores of a model along responses."""
        output: LanguageModelOutput = model(responses.input_ids)
        return output.logits

    def fit_reference(self) -> None:
        """Make a reference model from the preference data, for `reference_steps` steps, one batch of `batches` each.

        Afterwards policy and reference have the same, fitted weights, in the modules that they were before, and the
        reference does not require gradients.
        """
        optimizer = torch.optim.RMSprop(self.policy.parameters())
        for step, batch in zip(range(1, self.config.reference_steps + 1), self.batches(), strict=False):
            for group in optimizer.param_groups:
                group["lr"] = learning_rate(step, self.config.learning_rate, self.config.warmup_steps)
            chosen_logps, _ = concatenated_forward(self.policy, batch)
            optimizer.zero_grad()
            (-chosen_logps.mean()).backward()
            optimizer.step()
        self.reference.load_state_dict(self.policy.state_dict())

    def train(self) -> list[FrontierPoint]:
        """Optimise the policy for `steps` steps, one batch of `batches` each.

        Returns:
            The points of the frontier, measured on `test_responses` every `evaluate_every` steps.
        """
        optimizer = torch.optim.RMSprop(self.policy.parameters())
        points = []
        for step, batch in zip(range(1, self.config.steps + 1), self.batches(), strict=False):
            for group in optimizer.param_groups:
                group["lr"] = learning_rate(step, self.config.learning_rate, self.config.warmup_steps)
            losses, _, _ = losses_and_rewards(self.policy, self.reference, batch, self.loss_config)
            optimizer.zero_grad()
            losses.mean().backward()
            optimizer.step()
            if step % self.config.evaluate_every == 0:
                responses = self.test_responses()
                with torch.no_grad():
                    logits = [self.logits(model, responses) for model in (self.policy, self.reference)]
                divergences = sequence_kl(*logits, responses.labels)
                points.append(FrontierPoint(step, self.task.reward(responses).mean(), divergences.mean()))
        return points

    @torch.no_grad()
    def completion_rewards(self) -> Tensor:
        """(train_prompts, completions) implicit rewards of the present policy."""
        batch = self.completions.batch_with(self.completions)
        _, rewards, _ = losses_and_rewards(self.policy, self.reference, batch, self.loss_config)
        return rewards.view_as(self.rewards)
