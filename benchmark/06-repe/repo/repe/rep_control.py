"""Steering: add reading vectors to the hidden states of chosen layers during the forward pass."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor, nn

from repe.model import CausalLM


@contextmanager
def add_vectors(model: CausalLM, vectors: Mapping[int, np.ndarray]) -> Iterator[None]:
    """Within the context, the output of each of these layers is shifted by a vector (width,), at the last position.

    Args:
        vectors: by layer, counted as in `Output.hidden_states`: -1 is the last one. The embeddings cannot be shifted.
    """

    def shift_by(vector: np.ndarray):
        def hook(_module: nn.Module, _args: tuple[Tensor, ...], output: Tensor) -> Tensor:
            return torch.cat([output[:, :-1], output[:, -1:] + torch.as_tensor(vector, dtype=output.dtype)], dim=1)

        return hook

    # Hidden state 0 is the embedding, so that layer k has number k + 1; negative numbers fit as they are.
    modules = {number: model.layers[number if number < 0 else number - 1] for number in vectors}
    hooks = [modules[number].register_forward_hook(shift_by(vector)) for number, vector in vectors.items()]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
