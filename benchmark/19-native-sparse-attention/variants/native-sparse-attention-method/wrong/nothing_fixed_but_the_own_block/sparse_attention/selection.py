# Only the token's own block is certain; initial and other local blocks have to earn their place.
import torch


@torch.no_grad()
def select_blocks(scores, block_size, num_selected, initial_blocks=1, local_blocks=1):
    length, blocks = scores.shape[1], scores.shape[-1]
    block = torch.arange(blocks)
    current = (torch.arange(length) // block_size)[:, None, None]
    scores = scores.masked_fill(block == current, torch.inf).masked_fill(block > current, -torch.inf)
    best, indices = scores.topk(min(num_selected, blocks), dim=-1)
    indices = indices.masked_fill(best == -torch.inf, PADDING)
    return pad(indices, (0, num_selected - indices.shape[-1]), value=PADDING), (indices >= 0).sum(dim=-1)
