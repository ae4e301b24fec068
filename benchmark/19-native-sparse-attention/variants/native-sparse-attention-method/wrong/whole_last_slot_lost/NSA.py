# Counts the slots from one, so that the last used slot is lost.
import torch
from torch import Tensor


def selected_offsets(block_indices, block_counts, block_size):
    if block_counts is not None:
        limit = block_counts.unsqueeze(-1) if isinstance(block_counts, Tensor) else block_counts
        slots = torch.arange(1, block_indices.shape[-1] + 1)
        block_indices = block_indices.where((slots < limit) | (slots == 1), -1)
    return (block_indices.unsqueeze(-1) * block_size + torch.arange(block_size)).flatten(-2)
