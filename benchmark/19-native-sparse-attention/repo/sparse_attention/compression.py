"""The compression branch: attention over one pooled key and value per block (Section 3.3.1 of the paper)."""

import torch
from torch import Tensor


def pool_blocks(x: Tensor, block_size: int) -> Tensor:
    """Mean of each complete block of tokens; a shorter block at the end is left out.

    Args:
        x: keys or values (B, T, H, D).
        block_size: number of tokens in a block.

    Returns:
        (B, T // block_size, H, D).
    """
    blocks = x.shape[1] // block_size
    return x[:, : blocks * block_size].unflatten(1, (blocks, block_size)).mean(dim=2)


def compressed_attention(q: Tensor, k: Tensor, v: Tensor, block_size: int) -> tuple[Tensor, Tensor]:
    """Attend to the pooled blocks that end at or before each token.

    Args:
        q: queries (B, T, HQ, K) of one sequence per row.
        k: keys (B, T, H, K).
        v: values (B, T, H, V).
        block_size: number of tokens in a block.

    Returns:
        The outputs (B, T, HQ, V), zero for tokens before the end of the first block, and the attention probabilities
        (B, T, H, G, N) over the N complete blocks, from which blocks are selected. G = HQ / H.
    """
    length, kv_heads, key_dim = k.shape[1:]
    pooled_k, pooled_v = pool_blocks(k, block_size), pool_blocks(v, block_size)
    block_ends = torch.arange(1, pooled_k.shape[1] + 1, device=k.device) * block_size
    visible = block_ends <= torch.arange(1, length + 1, device=k.device)[:, None]

    scores = torch.einsum("bthgk,bnhk->bthgn", q.unflatten(2, (kv_heads, -1)), pooled_k) * key_dim**-0.5
    visible = visible[:, None, None, :]
    probabilities = scores.masked_fill(~visible, torch.finfo(scores.dtype).min).softmax(dim=-1) * visible
    outputs = torch.einsum("bthgn,bnhv->bthgv", probabilities, pooled_v).flatten(2, 3)
    return outputs, probabilities
