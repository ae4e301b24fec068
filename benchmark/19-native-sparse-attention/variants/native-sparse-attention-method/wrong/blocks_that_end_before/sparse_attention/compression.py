# A block has to end before the query's token, not with it.
import torch


def visible_blocks(length, size, stride, device=None):
    ends = stride * torch.arange(block_count(length, size, stride)) + size
    return ends < torch.arange(1, length + 1)[:, None]
