"""Small helpers shared by data, trainers and scripts: padding, seeding and the printing of metrics."""

import random

import torch
from torch import Tensor


def pad_to_length(sequence: Tensor, length: int, value: int) -> Tensor:
    """Pad the last dimension of `sequence` on the right.

    Args:
        sequence: (..., T) integer tensor.
        length: target size of the last dimension; a sequence that is long enough already is returned as it is.
        value: what to fill the new positions with.

    Returns:
        (..., max(T, length)) tensor of the same dtype.
    """
    missing = length - sequence.size(-1)
    if missing <= 0:
        return sequence
    padding = sequence.new_full((*sequence.shape[:-1], missing), value)
    return torch.cat([sequence, padding], dim=-1)


def seed_everything(seed: int) -> None:
    """Seed Python's and PyTorch's generators, so that two runs on one machine print the same numbers."""
    random.seed(seed)
    torch.manual_seed(seed)


def format_metrics(metrics: dict[str, float]) -> str:
    """One line of aligned `name value` columns."""
    return "   ".join(f"{name} {value:8.4f}" for name, value in metrics.items())
