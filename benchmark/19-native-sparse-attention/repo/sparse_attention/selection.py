"""Token selection: which blocks each token reads in full (Section 3.3.2 of the paper)."""

import torch
from torch import Tensor
from torch.nn.functional import one_hot, pad

PADDING = -1


def block_scores(probabilities: Tensor, size: int, stride: int, block_size: int, blocks: int) -> Tensor:
    """Scores of the selection blocks for each query head, from the weights of the compression blocks.

    Args:
        probabilities: (..., N), weights of the N complete compression blocks.
        size, stride: l and d of the paper.
        block_size: l' of the paper; l and l' are multiples of d.
        blocks: number M of selection blocks; the last one may be shorter.

    Returns:
        (..., M).
    """
    # In steps of d, a compression block has several places, each of them in one selection block.
    places = torch.arange(probabilities.shape[-1], device=probabilities.device)[:, None]
    places = places + torch.arange(size // stride, device=probabilities.device)
    overlap = one_hot(places // (block_size // stride), blocks).sum(dim=1)
    return probabilities @ overlap.to(probabilities.dtype)


def group_scores(scores: Tensor) -> Tensor:
    """Scores that the query heads of a group share.

    Args:
        scores: (B, T, H, G, M), scores of M selection blocks for each of the G query heads of a group.

    Returns:
        (B, T, H, M).
    """
    return scores.sum(dim=3)


@torch.no_grad()
def select_blocks(
    scores: Tensor, block_size: int, num_selected: int, initial_blocks: int = 1, local_blocks: int = 1
) -> tuple[Tensor, Tensor]:
    """Choose the blocks that each token reads. The choice is discrete: no gradient flows through it.

    Args:
        scores: (B, T, H, M), scores of the M blocks of one sequence per row; M blocks hold all T tokens.
        block_size: number of tokens in a block.
        num_selected: n of the paper, the number of slots S.
        initial_blocks, local_blocks: the paper's numbers of initial and of local blocks, at least 1 each, and no more
            than `num_selected` together.

    Returns:
        block_indices (B, T, H, S), int64, a token's blocks without repetition, in any order, then -1 in unused slots;
        and block_counts (B, T, H), int64, the number of used slots.
    """
    length, blocks = scores.shape[1], scores.shape[-1]
    block = torch.arange(blocks, device=scores.device)
    current = (torch.arange(length, device=scores.device) // block_size)[:, None, None]
    scores = scores.masked_fill((block > current - local_blocks) | (block < initial_blocks), torch.inf)
    scores = scores.masked_fill(block > current, -torch.inf)

    best, indices = scores.topk(min(num_selected, blocks), dim=-1)
    usable = best > -torch.inf
    indices = indices.masked_fill(~usable, PADDING)
    return pad(indices, (0, num_selected - indices.shape[-1]), value=PADDING), usable.sum(dim=-1)


@torch.no_grad()
def blocks_to_read(
    probabilities: Tensor,
    size: int,
    stride: int,
    block_size: int,
    num_selected: int,
    initial_blocks: int = 1,
    local_blocks: int = 1,
) -> tuple[Tensor, Tensor]:
    """Blocks that each token reads, from the weights (B, T, H, G, N) of the compression branch; see `select_blocks`."""
    blocks = -(-probabilities.shape[1] // block_size)
    scores = group_scores(block_scores(probabilities, size, stride, block_size, blocks))
    return select_blocks(scores, block_size, num_selected, initial_blocks, local_blocks)
