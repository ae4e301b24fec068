"""Massive activations over several images, and interventions on hidden states (Sections 3 and 5)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from lib.stats import massive_mask

#: (token, channel), both counted from 0.
Place = tuple[int, int]


@torch.no_grad()
def hidden_states(layers: Sequence[nn.Module], model: nn.Module, images: Tensor) -> list[Tensor]:
    """Hidden state after each layer, (B, N, C) each, from one forward pass on images (B, 3, H, W)."""
    states: list[Tensor] = []
    hooks = [layer.register_forward_hook(lambda _module, _args, output: states.append(output)) for layer in layers]
    try:
        model(images)
    finally:
        for hook in hooks:
            hook.remove()
    return states


@contextmanager
def replaced(layers: Sequence[nn.Module], changes: Mapping[int, Callable[[Tensor], Tensor]]) -> Iterator[None]:
    """Within the context, the hidden state after some layers, counted from 0, is replaced by a function of it."""
    hooks = [
        layers[number].register_forward_hook(lambda _module, _args, output, change=change: change(output))
        for number, change in changes.items()
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def massive_places(states: Tensor) -> list[Place]:
    """Places of massive activations in the hidden states (B, N, C) of several images, sorted."""
    mask = massive_mask(states.abs().mean(dim=0).numpy())
    return [(int(token), int(channel)) for token, channel in zip(*mask.nonzero(), strict=True)]


def intervention_layer(states: Sequence[Tensor]) -> int | None:
    """The layer, counted from 0, on which the paper intervenes, from the hidden states (B, N, C) after all layers.

    None if no layer has massive activations.
    """
    return next((number for number, state in enumerate(states) if massive_places(state)), None)


def mean_values(states: Tensor, places: Sequence[Place]) -> Tensor:
    """Values for the intervention with means, (len(places),), from hidden states (B, N, C) of several images."""
    means = states.mean(dim=0)
    return torch.stack([means[place] for place in places])


def set_values(states: Tensor, places: Sequence[Place], values: Tensor) -> Tensor:
    """Hidden states (B, N, C) with `values` (len(places),) at these places of each image; a new tensor."""
    changed = states.clone()
    for place, value in zip(places, values, strict=True):
        changed[:, place[0], place[1]] = value
    return changed


def register_means(states: Tensor, registers: int) -> Tensor:
    """Means of register tokens, (registers, C), from the hidden states (B, N, C) of several images in one layer."""
    return states[:, 1 : 1 + registers].mean(dim=0)


def set_registers(states: Tensor, means: Tensor) -> Tensor:
    """Hidden states (B, N, C) with `means` (registers, C) in place of the register tokens; a new tensor."""
    registers = means.expand(len(states), -1, -1)
    return torch.cat([states[:, :1], registers, states[:, 1 + len(means) :]], dim=1)
