# Local blocks are those before the token's own block, which has to earn its place.
import torch


@torch.no_grad()
def select_blocks(scores, block_size, num_selected, initial_blocks=1, local_blocks=1):
    length, blocks = scores.shape[1], scores.shape[-1]
    block = torch.arange(blocks)
    current = (torch.arange(length) // block_size)[:, None, None]
    local = (block < current) & (block >= current - local_blocks)
    scores = scores.masked_fill(local | (block < initial_blocks), torch.inf).masked_fill(block > current, -torch.inf)
    best, indices = scores.topk(min(num_selected, blocks), dim=-1)
    indices = indices.masked_fill(best == -torch.inf, PADDING)
    return pad(indices, (0, num_selected - indices.shape[-1]), value=PADDING), (indices >= 0).sum(dim=-1)
