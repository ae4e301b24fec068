"""Optimisation as in the paper's experiments, for any objective."""

import math
from collections.abc import Callable, Sequence

import torch
from simpo.data import PreferenceBatch
from torch import Tensor, nn


def learning_rate(step: int, total_steps: int, peak: float) -> float:
    """Learning rate of a step.

    Args:
        step: number of the step, from 1 to `total_steps`.
        total_steps: steps of the whole run.
        peak: the largest learning rate.
    """
    warmup_steps = math.ceil(total_steps / 10)
    if step <= warmup_steps:
        return peak * step / warmup_steps
    progress = (step - warmup_steps) / (total_steps - warmup_steps)
    return peak * (1 + math.cos(math.pi * progress)) / 2


def optimize(
    model: nn.Module, objective: Callable[[PreferenceBatch], Tensor], batches: Sequence[PreferenceBatch], peak: float
) -> list[float]:
    """Train a model with the optimiser and the schedule of the paper, one step a batch.

    Args:
        model: what is trained.
        objective: batch of B pairs -> (B,) losses; called once a step.
        batches: the batches of the whole run, in order.
        peak: the largest learning rate.

    Returns:
        The loss of each batch before its step, reduced as it was for the step.
    """
    optimizer = torch.optim.Adam(model.parameters())
    losses = []
    for step, batch in enumerate(batches, start=1):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, len(batches), peak)
        loss = objective(batch).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
