"""Packed sequences: several sequences laid end to end along the time axis, and the `cu_seqlens` that marks them."""

from collections.abc import Sequence

import torch
from torch import Tensor


def pack(sequences: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """Lay sequences end to end in a batch of one.

    Args:
        sequences: N tensors (T_n, ...) with equal trailing shapes.

    Returns:
        The packed tensor (1, sum of T_n, ...) and its `cu_seqlens` (N + 1,), int64: the start of each sequence,
        followed by the total length.
    """
    lengths = torch.tensor([0, *(len(sequence) for sequence in sequences)])
    return torch.cat(list(sequences)).unsqueeze(0), lengths.cumsum(0)


def sequence_slices(length: int, cu_seqlens: Tensor | None) -> list[slice]:
    """Slices of the time axis, one for each sequence; a single slice of `length` without `cu_seqlens`."""
    if cu_seqlens is None:
        return [slice(0, length)]
    borders = cu_seqlens.tolist()
    return [slice(start, end) for start, end in zip(borders[:-1], borders[1:], strict=True)]


def local_positions(length: int, cu_seqlens: Tensor | None, device: torch.device | None = None) -> Tensor:
    """Position of each token in its own sequence: (length,), int64, starting again from 0 at each border."""
    positions = torch.arange(length, device=device)
    if cu_seqlens is None:
        return positions
    cu_seqlens = cu_seqlens.to(positions.device)
    return positions - torch.repeat_interleave(cu_seqlens[:-1], cu_seqlens.diff())
