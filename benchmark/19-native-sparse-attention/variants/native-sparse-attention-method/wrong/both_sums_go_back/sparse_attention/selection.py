# Subtracts both running indices, although blocks count from zero.
import torch


def block_scores(probabilities, size, stride, block_size, blocks):
    scores = torch.zeros(*probabilities.shape[:-1], blocks, dtype=probabilities.dtype)
    for j in range(blocks):
        for m in range(block_size // stride):
            for r in range(size // stride):
                i = block_size // stride * j - m - r
                if 0 <= i < probabilities.shape[-1]:
                    scores[..., j] += probabilities[..., i]
    return scores
