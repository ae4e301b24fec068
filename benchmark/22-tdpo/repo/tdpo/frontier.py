"""The frontier of sentiment and divergence that a policy passes through while it is optimised."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from trainers import TDPOTrainer

from tdpo.batching import IGNORE_LABEL, PAD_TOKEN, PreferenceBatch, Tokenizer, iterate_batches
from tdpo.data import PreferencePair, sentiment
from tdpo.logprobs import get_batch_statistics
from tdpo.model import RecurrentLM

MAX_NEW_TOKENS = 20


@dataclass(frozen=True)
class FrontierConfig:
    """How long and how fast to optimise, and how often to measure."""

    steps: int
    batch_size: int
    learning_rate: float  # the peak of the schedule
    warmup_steps: int
    evaluate_every: int
    samples: int
    seed: int = 0


@dataclass(frozen=True)
class FrontierPoint:
    """One point of a frontier, after a step; both values are scalar tensors without gradients."""

    step: int
    sentiment: Tensor
    divergence: Tensor


@dataclass(frozen=True)
class Reviews:
    """N sampled reviews as tokens, padded on the right, and their true rewards."""

    input_ids: Tensor  # (N, T) int64
    labels: Tensor  # (N, T) int64, IGNORE_LABEL on prompt and padding
    sentiments: Tensor  # (N,) float64


def sample_reviews(
    policy: RecurrentLM, tokenizer: Tokenizer, pairs: Sequence[PreferencePair], count: int, seed: int
) -> Reviews:
    """Sample `count` continuations of the pairs' prompts, the same random numbers for each policy."""
    prompts = torch.tensor([tokenizer.encode(pairs[i % len(pairs)].prompt) for i in range(count)])
    continuations = policy.sample(prompts, MAX_NEW_TOKENS, torch.Generator().manual_seed(seed))
    sentiments = [sentiment(tokenizer.decode(tokens)) for tokens in continuations.tolist()]
    input_ids = torch.cat([prompts, continuations], dim=1)
    labels = input_ids.masked_fill(input_ids == PAD_TOKEN, IGNORE_LABEL)
    labels[:, : prompts.size(1)] = IGNORE_LABEL
    return Reviews(input_ids, labels, torch.tensor(sentiments, dtype=torch.float64))


@torch.no_grad()
def review_divergences(policy: RecurrentLM, reference: RecurrentLM, reviews: Reviews) -> Tensor:
    """(N,) sequential divergences along reviews."""
    return get_batch_statistics(policy(reviews.input_ids), reference(reviews.input_ids), reviews.labels).position_kl


def endless_batches(
    pairs: Sequence[PreferencePair], tokenizer: Tokenizer, batch_size: int, seed: int
) -> Iterator[PreferenceBatch]:
    """Epochs of shuffled batches, one after the other."""
    rng = random.Random(seed)
    while True:
        yield from iterate_batches(pairs, tokenizer, batch_size, rng)


def learning_rate(step: int, peak: float, warmup_steps: int) -> float:
    """Learning rate of a step of preference optimisation.

    Args:
        step: number of the step, from 1.
        peak: the largest learning rate.
        warmup_steps: length of the warm-up in steps, at least 1.
    """
    return peak * min(1.0, step / warmup_steps)


def trace_frontier(
    trainer: TDPOTrainer,
    train_pairs: Sequence[PreferencePair],
    eval_pairs: Sequence[PreferencePair],
    config: FrontierConfig,
) -> list[FrontierPoint]:
    """Optimise the trainer's policy for `steps` steps with the paper's optimiser, in place of the trainer's own.

    Args:
        trainer: holds the policy, the reference and the loss; `get_batch_metrics` gives the loss of a step.
        train_pairs: batches come from `endless_batches` with the seed of `config`, one a step.
        eval_pairs: prompts for `sample_reviews`, which takes `samples` and the seed of `config`.
        config: sizes and rates.

    Returns:
        The points after each step that is a multiple of `evaluate_every`.
    """
    optimizer = torch.optim.RMSprop(trainer.policy.parameters())
    batches = endless_batches(train_pairs, trainer.tokenizer, config.batch_size, config.seed)
    points = []
    for step in range(1, config.steps + 1):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, config.learning_rate, config.warmup_steps)
        loss, _ = trainer.get_batch_metrics(next(batches))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % config.evaluate_every == 0:
            reviews = sample_reviews(trainer.policy, trainer.tokenizer, eval_pairs, config.samples, config.seed)
            divergences = review_divergences(trainer.policy, trainer.reference, reviews)
            points.append(FrontierPoint(step, reviews.sentiments.mean(), divergences.mean()))
    return points
