# Compresses block by block, and normalises by the logarithm of the sum.
import torch
from torch import Tensor


class BlockCompressor:
    def forward(self, x: Tensor) -> Tensor:
        batch, length, heads, dim = x.shape
        made = []
        for start in range(0, length - self.size + 1, self.stride):
            block = x[:, start : start + self.size] + self.position[:, None]
            made.append(self.network(block.transpose(1, 2).reshape(batch, heads, self.size * dim)))
        return torch.stack(made, dim=1) if made else x.new_zeros(batch, 0, heads, dim)


def visible_blocks(length: int, size: int, stride: int, device: torch.device | None = None) -> Tensor:
    result = torch.zeros(length, block_count(length, size, stride), dtype=torch.bool, device=device)
    for t in range(1, length + 1):
        if t >= size:
            result[t - 1, : (t - size) // stride + 1] = True
    return result


def compressed_attention(q: Tensor, k: Tensor, v: Tensor, visible: Tensor) -> tuple[Tensor, Tensor]:
    batch, length, heads, dim = q.shape
    kv_heads, blocks = k.shape[2], k.shape[1]
    group = heads // kv_heads
    weights = []
    for head in range(heads):
        scores = q[:, :, head] @ k[:, :, head // group].transpose(1, 2) / dim**0.5
        if blocks:
            hidden = scores.masked_fill(~visible, -1e30)
            scores = (hidden - hidden.logsumexp(dim=-1, keepdim=True)).exp() * visible
        weights.append(scores)
    outputs = torch.stack([w @ v[:, :, head // group] for head, w in enumerate(weights)], dim=2)
    return outputs, torch.stack(weights, dim=2).reshape(batch, length, kv_heads, group, blocks)
