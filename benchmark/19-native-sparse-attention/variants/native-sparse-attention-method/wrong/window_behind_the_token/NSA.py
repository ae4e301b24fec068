# Reads the w tokens before the query's own.
import torch


def window_offsets(positions, window_size):
    return positions[:, None] - 1 - torch.arange(window_size)
