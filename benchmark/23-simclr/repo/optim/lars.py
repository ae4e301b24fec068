"""LARS: gradient steps whose size depends on the parameter tensor."""

from collections.abc import Iterable

import torch
from torch import Tensor, nn


def local_rate(weight: Tensor, gradient: Tensor, weight_decay: float, trust: float) -> Tensor:
    """The local rate lambda of the paper for one parameter tensor.

    Args:
        weight: the tensor, any shape, with at least one number that is not zero.
        gradient: its gradient, in the same shape, likewise.
        weight_decay: rho of the paper.
        trust: eta of the paper.

    Returns:
        A scalar in the dtype of `weight`.
    """
    norm = torch.linalg.vector_norm(weight)
    return trust * norm / (torch.linalg.vector_norm(gradient) + weight_decay * norm)


class LARS:
    """The optimiser of the paper.

    Args:
        parameters: what is trained.
        learning_rate: gamma of the paper for the next step; a schedule may set it anew before each step.
        momentum: mu of the paper.
        weight_decay: rho of the paper.
        trust: eta of the paper.

    Attributes:
        velocity: parameter -> V of the paper, a tensor of its shape; zeros at first. Other attributes have the names of
            the arguments.
    """

    def __init__(
        self,
        parameters: Iterable[nn.Parameter],
        learning_rate: float,
        momentum: float = 0.9,
        weight_decay: float = 1e-6,
        trust: float = 1e-3,
    ) -> None:
        self.parameters = list(parameters)
        self.learning_rate = learning_rate
        self.momentum = momentum
        self.weight_decay = weight_decay
        self.trust = trust
        self.velocity = {parameter: torch.zeros_like(parameter) for parameter in self.parameters}

    def zero_grad(self) -> None:
        """Drop all gradients."""
        for parameter in self.parameters:
            parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """Update all parameters in place, and `velocity`; a parameter without a gradient stays as it is.

        Gradients are not changed. Tensors in `velocity` may be replaced or changed in place.
        """
        for parameter in self.parameters:
            gradient = parameter.grad
            if gradient is None:
                continue
            update = self.learning_rate * gradient
            if parameter.dim() > 1:
                rate = self.learning_rate * local_rate(parameter, gradient, self.weight_decay, self.trust)
                update = rate * (gradient + self.weight_decay * parameter)
            self.velocity[parameter] = self.momentum * self.velocity[parameter] + update
            parameter.sub_(self.velocity[parameter])
