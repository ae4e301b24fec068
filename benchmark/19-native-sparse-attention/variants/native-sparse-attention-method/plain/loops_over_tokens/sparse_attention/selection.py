# Sliding sums of the padded weights, and a sort.
import torch
import torch.nn.functional as F


def block_scores(probabilities, size, stride, block_size, blocks):
    per_block, overlap = block_size // stride, size // stride
    steps = per_block * blocks
    padded = F.pad(probabilities, (overlap - 1, max(0, steps - probabilities.shape[-1])))
    step_scores = padded.unfold(-1, overlap, 1).sum(-1)[..., :steps]
    return step_scores.unflatten(-1, (blocks, per_block)).sum(-1)


def group_scores(scores):
    total = scores[:, :, :, 0]
    for g in range(1, scores.shape[3]):
        total = total + scores[:, :, :, g]
    return total


@torch.no_grad()
def select_blocks(scores, block_size, num_selected, initial_blocks=1, local_blocks=1):
    batch, length, heads, blocks = scores.shape
    current = torch.arange(length).view(-1, 1, 1) // block_size
    block = torch.arange(blocks).view(1, 1, -1)
    future = (block > current).expand(length, heads, blocks)
    forced = ((block < initial_blocks) | (block > current - local_blocks)) & (block <= current)
    ranked = scores.masked_fill(forced, float("inf")).masked_fill(future, float("-inf"))
    order = ranked.argsort(dim=-1, descending=True)[..., :num_selected]
    valid = order <= current
    indices = torch.full((batch, length, heads, num_selected), -1)
    indices[..., : order.shape[-1]] = torch.where(valid, order, -1)
    return indices, (indices != -1).sum(-1)
