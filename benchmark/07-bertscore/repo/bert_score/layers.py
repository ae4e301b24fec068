"""The layer of an encoder that token vectors are taken from."""

from collections.abc import Sequence

import torch
from torch import Tensor


def pearson(scores: Tensor, ratings: Tensor) -> Tensor:
    """Pearson's correlation of two tensors (N,), a scalar."""
    return torch.corrcoef(torch.stack([scores, ratings]))[0, 1]


def layer_quality(scores: Sequence[Tensor], ratings: Sequence[Tensor]) -> Tensor:
    """How well the scores from one layer agree with ratings, over all validation sets.

    Args:
        scores: for each set, (N,) scores of its segments; N may differ between sets.
        ratings: for each set, (N,) ratings of the same segments by humans, higher for better ones.

    Returns:
        A scalar, higher for a better layer.
    """
    correlations = [pearson(*pair).abs() for pair in zip(scores, ratings, strict=True)]
    return torch.stack(correlations).mean()


def choose_layer(scores: Sequence[Sequence[Tensor]], ratings: Sequence[Tensor]) -> int:
    """Index of the layer to use, by `layer_quality`.

    Args:
        scores: for each layer, what `layer_quality` takes; no two layers are equally good.
        ratings: as `layer_quality` takes them, the same ones for all layers.
    """
    qualities = [layer_quality(of_layer, ratings) for of_layer in scores]
    return int(torch.stack(qualities).argmax())
