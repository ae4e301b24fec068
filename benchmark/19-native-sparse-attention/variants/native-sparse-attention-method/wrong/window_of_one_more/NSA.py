# Reads k_{t-w:t} with both ends, w + 1 tokens.
import torch


def window_offsets(positions, window_size):
    return positions[:, None] - torch.arange(window_size + 1)
