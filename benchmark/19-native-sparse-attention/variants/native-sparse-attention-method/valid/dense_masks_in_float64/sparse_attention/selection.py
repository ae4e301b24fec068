# Scores by the double sum, and a choice that walks over tokens.
import torch
from torch import Tensor


def block_scores(probabilities: Tensor, size: int, stride: int, block_size: int, blocks: int) -> Tensor:
    columns = []
    for j in range(blocks):
        column = torch.zeros(probabilities.shape[:-1], dtype=probabilities.dtype)
        for m in range(block_size // stride):
            for r in range(size // stride):
                i = block_size // stride * j + m - r
                if 0 <= i < probabilities.shape[-1]:
                    column = column + probabilities[..., i]
        columns.append(column)
    return torch.stack(columns, dim=-1)


def group_scores(scores: Tensor) -> Tensor:
    return torch.einsum("bthgm->bthm", scores)


@torch.no_grad()
def select_blocks(
    scores: Tensor, block_size: int, num_selected: int, initial_blocks: int = 1, local_blocks: int = 1
) -> tuple[Tensor, Tensor]:
    indices = torch.full((*scores.shape[:3], num_selected), PADDING)
    counts = torch.zeros(scores.shape[:3], dtype=torch.int64)
    for row in range(scores.shape[0]):
        for t in range(scores.shape[1]):
            own = t // block_size
            forced = {b for b in range(own + 1) if b < initial_blocks or b > own - local_blocks}
            for head in range(scores.shape[2]):
                rest = sorted(set(range(own + 1)) - forced, key=lambda b: -scores[row, t, head, b].item())
                chosen = sorted(forced) + rest[: num_selected - len(forced)]
                indices[row, t, head, : len(chosen)] = torch.tensor(chosen)
                counts[row, t, head] = len(chosen)
    return indices, counts
