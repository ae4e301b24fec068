# A compression block counts once for each selection block that it touches.
import torch


def block_scores(probabilities, size, stride, block_size, blocks):
    starts = stride * torch.arange(probabilities.shape[-1])[:, None]
    first = block_size * torch.arange(blocks)
    touches = (starts < first + block_size) & (starts + size > first)
    return probabilities @ touches.to(probabilities.dtype)
