"""Token selection: which blocks each token reads in full (Section 3.3.2 of the paper)."""

import torch
from torch import Tensor
from torch.nn.functional import pad

PADDING = -1


@torch.no_grad()
def select_blocks(probabilities: Tensor, block_size: int, num_selected: int) -> tuple[Tensor, Tensor]:
    """Choose the highest-scoring blocks of each token, one choice for all query heads of a group.

    A block's score is its compressed-attention probability, summed over the group. The block that holds the token and
    the first block of the sequence are always among the choice, so no token is left without a key. The choice is
    discrete: no gradient flows through it, and the scores learn through the compression branch.

    Args:
        probabilities: compressed attention (B, T, H, G, N) over the N complete blocks of one sequence per row.
        block_size: number of tokens in a block.
        num_selected: number of slots S, at least 2.

    Returns:
        block_indices (B, T, H, S), int64, the best block first and unused slots set to -1, and block_counts (B, T, H),
        int64, the number of used slots.
    """
    scores = probabilities.sum(dim=3)
    length, complete = scores.shape[1], scores.shape[-1]
    blocks = -(-length // block_size)
    scores = pad(scores, (0, blocks - complete))

    block = torch.arange(blocks, device=scores.device)
    current = (torch.arange(length, device=scores.device) // block_size)[:, None, None]
    scores = scores.masked_fill((block == current) | (block == 0), torch.inf)
    scores = scores.masked_fill(block > current, -torch.inf)

    best, indices = scores.topk(min(num_selected, blocks), dim=-1)
    usable = best > -torch.inf
    indices = indices.masked_fill(~usable, PADDING)
    return pad(indices, (0, num_selected - indices.shape[-1]), value=PADDING), usable.sum(dim=-1)
