# A block is read as soon as it has begun.
import torch


def visible_blocks(length, size, stride, device=None):
    starts = stride * torch.arange(block_count(length, size, stride))
    return starts <= torch.arange(length)[:, None]
