"""Self-play: iterations in which the main player learns to tell the data from its own previous iterate."""

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

import torch
from torch import nn

from spin.alignment.collate import AnswerPair
from spin.alignment.trainer import SPINTrainer, TrainingConfig
from spin.generate import generate_answers


@dataclass(frozen=True)
class SelfPlayConfig:
    """How all iterations are played; values with a symbol are those of the paper's settings."""

    iterations: int  # K
    answers_per_prompt: int  # that the opponent writes in each iteration
    max_new_tokens: int  # in each of them
    beta: float  # lambda_1
    last_beta: float  # lambda_2
    learning_rate: float  # gamma_1
    later_learning_rate: float  # gamma_2
    epochs: int  # of each iteration
    batch_size: int
    loss_type: str = "sigmoid"
    reference_free: bool = False


@dataclass(frozen=True)
class IterationRecord:
    """What happened in one iteration."""

    beta: float
    learning_rate: float  # gamma
    pairs: list[AnswerPair]  # what the main player was trained on
    losses: list[float]  # as `SPINTrainer.train` returns them
    trainer: SPINTrainer


def write_pairs(
    opponent: nn.Module,
    prompts: Sequence[list[int]],
    real: Sequence[list[int]],
    config: SelfPlayConfig,
    generator: torch.Generator,
) -> list[AnswerPair]:
    """Let the opponent answer every prompt, and set each of its answers against the real one."""
    prompts, real = list(prompts) * config.answers_per_prompt, list(real) * config.answers_per_prompt
    numbers = torch.rand(len(prompts), config.max_new_tokens, generator=generator, dtype=torch.float64)
    generated = generate_answers(opponent, prompts, config.max_new_tokens, numbers)
    return [AnswerPair(*parts) for parts in zip(prompts, real, generated, strict=True)]


def iteration_settings(iteration: int, config: SelfPlayConfig) -> tuple[float, float]:
    """The scale lambda and the peak gamma of the learning rate in one iteration.

    Args:
        iteration: t of the paper, from 0 to `config.iterations` - 1.
        config: the settings.
    """
    last = iteration == config.iterations - 1
    early = 2 * iteration < config.iterations
    return config.last_beta if last else config.beta, config.learning_rate if early else config.later_learning_rate


def training_pairs(written: Sequence[list[AnswerPair]]) -> list[AnswerPair]:
    """The pairs that the main player is trained on in the present iteration.

    Args:
        written: the pairs of each iteration's opponent so far, those of the present one last; at least one list.

    Returns:
        Pairs in the order in which they were written.
    """
    return [pair for pairs in written[-2:] for pair in pairs]


def self_play(
    policy: nn.Module,
    prompts: Sequence[list[int]],
    real: Sequence[list[int]],
    config: SelfPlayConfig,
    rng: Random,
    generator: torch.Generator,
) -> Iterator[IterationRecord]:
    """Train a language model by self-play.

    Args:
        policy: the fine-tuned model to start from; it is trained in place.
        prompts: N prompts of the same number of tokens.
        real: N answers to them.
        config: the settings.
        rng: of the order of training pairs, for `SPINTrainer.train`; nothing else draws from it.
        generator: of the opponent's answers, for `write_pairs`, which is called once in each iteration.

    Yields:
        A record after each iteration. Its trainer holds the opponent of this iteration, which no longer changes.
    """
    written = []
    for iteration in range(config.iterations):
        opponent = copy.deepcopy(policy)
        written.append(write_pairs(opponent, prompts, real, config, generator))
        pairs = training_pairs(written)
        beta, rate = iteration_settings(iteration, config)
        trainer = SPINTrainer(policy, opponent, beta, config.loss_type)
        training = TrainingConfig(config.epochs, config.batch_size, rate, config.reference_free)
        losses = trainer.train(pairs, training, rng)
        yield IterationRecord(beta, rate, pairs, losses, trainer)
