"""Control: change the hidden states of chosen layers by reading vectors during the forward pass."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor, nn

from repe.model import CausalLM

#: Takes states (..., width) and a vector (width,) of the same dtype, and returns the changed states, a new tensor.
Operator = Callable[[Tensor, Tensor], Tensor]


def linear_combination(states: Tensor, vector: Tensor) -> Tensor:
    """The first operator of the paper's table, for states (..., width) and a vector (width,)."""
    return states + vector


def piecewise(states: Tensor, vector: Tensor) -> Tensor:
    """The second operator, the piece-wise one, for states (..., width) and a vector (width,)."""
    side = (states @ vector).sign()
    return states + side.unsqueeze(-1) * vector


def projection(states: Tensor, vector: Tensor) -> Tensor:
    """The third operator, for states (..., width) and a vector (width,)."""
    share = states @ vector / vector.square().sum()
    return states - share.unsqueeze(-1) * vector


@contextmanager
def control(
    model: CausalLM, vectors: Mapping[int, np.ndarray], operator: Operator = linear_combination
) -> Iterator[None]:
    """Within the context, an operator changes the output of each of these layers, at every position.

    Args:
        vectors: (width,) by layer, counted as in `Output.hidden_states`: -1 is the last one. The embeddings cannot be
            changed. A coefficient is part of its vector.
    """

    def change_by(vector: np.ndarray):
        def hook(_module: nn.Module, _args: tuple[Tensor, ...], output: Tensor) -> Tensor:
            return operator(output, torch.as_tensor(vector, dtype=output.dtype))

        return hook

    # Hidden state 0 is the embedding, so that layer k has number k + 1; negative numbers fit as they are.
    modules = {number: model.layers[number if number < 0 else number - 1] for number in vectors}
    hooks = [modules[number].register_forward_hook(change_by(vector)) for number, vector in vectors.items()]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
