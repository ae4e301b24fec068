"""The compression branch: attention over one key and value for each block of tokens (Section 3.3.1 of the paper)."""

import torch
from torch import Tensor, nn


def block_count(length: int, size: int, stride: int) -> int:
    """Number of complete compression blocks in a sequence of `length` tokens."""
    return max(0, (length - size) // stride + 1)


def pool_blocks(x: Tensor, block_size: int) -> Tensor:
    """Mean of each complete block of tokens; a shorter block at the end is left out. It has nothing to learn.

    Args:
        x: keys or values (B, T, H, D).
        block_size: number of tokens in a block.

    Returns:
        (B, T // block_size, H, D).
    """
    blocks = x.shape[1] // block_size
    return x[:, : blocks * block_size].unflatten(1, (blocks, block_size)).mean(dim=2)


class BlockCompressor(nn.Module):
    """phi of the paper, for keys or for values: one vector for each block of tokens. All heads share it.

    Args:
        dim: size D of a head's keys or values.
        size, stride: l and d of the paper.
        hidden: hidden size of the MLP.

    Attributes:
        position: (l, D), a learned vector for each place in a block.
        network: the MLP, from (..., l * D) to (..., D).
    """

    def __init__(self, dim: int, size: int, stride: int, hidden: int) -> None:
        super().__init__()
        self.size, self.stride = size, stride
        self.position = nn.Parameter(0.1 * torch.randn(size, dim))
        self.network = nn.Sequential(nn.Linear(size * dim, hidden), nn.GELU(), nn.Linear(hidden, dim))

    def forward(self, x: Tensor) -> Tensor:
        """Compress the blocks of one sequence per row.

        Args:
            x: keys or values (B, T, H, D).

        Returns:
            (B, N, H, D) for the N complete blocks, as `block_count` counts them; N may be 0.
        """
        count = block_count(x.shape[1], self.size, self.stride)
        if count == 0:
            return x[:, :0]
        blocks = x.unfold(1, self.size, self.stride).movedim(-1, -2)  # (B, N, H, l, D)
        return self.network((blocks + self.position).flatten(-2))


def visible_blocks(length: int, size: int, stride: int, device: torch.device | None = None) -> Tensor:
    """Which compression blocks the tokens of a sequence read.

    Args:
        length: number T of tokens.
        size, stride: l and d of the paper.
        device: of the result.

    Returns:
        (T, N), bool, for T tokens and the N complete blocks, as `block_count` counts them.
    """
    starts = stride * torch.arange(block_count(length, size, stride), device=device)
    return starts + size <= torch.arange(1, length + 1, device=device)[:, None]


def compressed_attention(q: Tensor, k: Tensor, v: Tensor, visible: Tensor) -> tuple[Tensor, Tensor]:
    """Attention of each token over the blocks that it reads, one sequence per row.

    Args:
        q: queries (B, T, HQ, K).
        k: a key for each block (B, N, H, K).
        v: a value for each block (B, N, H, V).
        visible: (T, N), bool, the blocks that each token reads.

    Returns:
        The outputs (B, T, HQ, V), zero for tokens that read no block, and the weights p of the blocks (B, T, H, G, N),
        zero for blocks that are not read. G = HQ / H.
    """
    scores = torch.einsum("bthgk,bnhk->bthgn", q.unflatten(2, (k.shape[2], -1)), k) * k.shape[-1] ** -0.5
    visible = visible[:, None, None, :]
    probabilities = scores.masked_fill(~visible, torch.finfo(scores.dtype).min).softmax(dim=-1) * visible
    outputs = torch.einsum("bthgn,bnhv->bthgv", probabilities, v).flatten(2, 3)
    return outputs, probabilities
