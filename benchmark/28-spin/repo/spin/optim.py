"""The optimiser of the main player, and its learning rate during one iteration of self-play."""

import math
from collections.abc import Iterable

import torch
from torch import Tensor, nn


class RMSProp:
    """The optimiser of the paper.

    Args:
        parameters: what is trained.

    Attributes:
        squares: parameter -> v of the paper, a tensor of its shape; zeros at first. It may be read and set from
            outside, and tensors in it may be replaced or changed in place.
    """

    def __init__(self, parameters: Iterable[nn.Parameter]) -> None:
        self.squares: dict[nn.Parameter, Tensor] = {parameter: torch.zeros_like(parameter) for parameter in parameters}

    def zero_grad(self) -> None:
        """Drop all gradients."""
        for parameter in self.squares:
            parameter.grad = None

    @torch.no_grad()
    def step(self, rate: float) -> None:
        """Update parameters and `squares` with a learning rate; a parameter without a gradient stays as it is.

        Gradients are not changed.
        """
        for parameter in self.squares:
            gradient = parameter.grad
            if gradient is None:
                continue
            self.squares[parameter] = 0.99 * self.squares[parameter] + 0.01 * gradient.square()
            parameter.sub_(rate * gradient / (self.squares[parameter].sqrt() + 1e-8))


def rate_at(step: int, peak: float, total_steps: int) -> float:
    """The learning rate gamma_k of the paper at step k.

    Args:
        step: k of the paper, from 1 to `total_steps`.
        peak: gamma of the paper.
        total_steps: n of the paper, at least 1.
    """
    warmup_steps = math.ceil(total_steps / 10)
    if step <= warmup_steps:
        return peak * (step / warmup_steps)
    return peak * ((total_steps + 1 - step) / (total_steps + 1 - warmup_steps))
