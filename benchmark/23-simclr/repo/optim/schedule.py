"""The learning rate: how it depends on the batch size, and how it changes during a run."""

import math

from optim.lars import LARS


def peak_rate(reference_rate: float, batch_size: int) -> float:
    """The highest learning rate of a run.

    Args:
        reference_rate: gamma_0 of the paper.
        batch_size: images a batch, N.
    """
    return reference_rate * batch_size / 256


def rate_at(step: int, peak: float, warmup_steps: int, total_steps: int) -> float:
    """The learning rate at one step.

    Args:
        step: t of the paper, counted from 1 to `total_steps`.
        peak: the highest learning rate.
        warmup_steps: T_w of the paper, from 0 to `total_steps`.
        total_steps: T of the paper, at least 1.
    """
    if step <= warmup_steps:
        return peak * (step / warmup_steps)
    progress = (step - warmup_steps) / (total_steps - warmup_steps)
    return peak * (1 + math.cos(math.pi * progress)) / 2


class Schedule:
    """Keeps `optimizer.learning_rate` at `rate_at` of the step that comes next.

    Args:
        optimizer: what takes the steps.
        peak, warmup_steps, total_steps: as in `rate_at`.
    """

    def __init__(self, optimizer: LARS, peak: float, warmup_steps: int, total_steps: int) -> None:
        self.optimizer = optimizer
        self.settings = (peak, warmup_steps, total_steps)
        self.done = 0
        self.step()

    def step(self) -> None:
        """Set the learning rate of the next step; after the last one it stays."""
        total_steps = self.settings[-1]
        self.done = min(self.done + 1, total_steps)
        self.optimizer.learning_rate = rate_at(self.done, *self.settings)
