"""A small vision transformer in the manner of DINOv2, with or without register tokens."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass(frozen=True)
class ViTConfig:
    """Sizes of the transformer."""

    depth: int
    width: int
    heads: int
    registers: int
    image_size: int = 56
    patch_size: int = 14


class Attention(nn.Module):
    """Multi-head self-attention over all tokens."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)

    def project(self, x: Tensor) -> Tensor:
        """Queries, keys and values of each head, (3, B, heads, N, width / heads), from (B, N, width)."""
        batch, tokens, _ = x.shape
        return self.qkv(x).view(batch, tokens, 3, self.heads, -1).permute(2, 0, 3, 1, 4)

    def forward(self, x: Tensor) -> Tensor:
        """(B, N, width) to (B, N, width)."""
        batch, tokens, width = x.shape
        query, key, value = self.project(x)
        mixed = F.scaled_dot_product_attention(query, key, value)
        return self.proj(mixed.transpose(1, 2).reshape(batch, tokens, width))


class Mlp(nn.Module):
    """Two-layer perceptron, applied to each token."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.fc1 = nn.Linear(width, 4 * width)
        self.fc2 = nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        """(B, N, width) to (B, N, width)."""
        return self.fc2(F.gelu(self.fc1(x)))


class LayerScale(nn.Module):
    """A learned factor for each channel of a residual branch."""

    def __init__(self, width: int, value: float = 0.5) -> None:
        super().__init__()
        self.gamma = nn.Parameter(torch.full((width,), value))

    def forward(self, x: Tensor) -> Tensor:
        """(B, N, width) to (B, N, width)."""
        return x * self.gamma


class DropPath(nn.Module):
    """Stochastic depth: in training mode a branch is left out for a random share of the images."""

    def __init__(self, rate: float = 0.1) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        """(B, N, width) to (B, N, width)."""
        if not self.training:
            return x
        kept = torch.rand(x.size(0), 1, 1, device=x.device) >= self.rate
        return x * kept / (1 - self.rate)


class Block(nn.Module):
    """Pre-norm transformer block with layer scale and stochastic depth on both branches."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attn = Attention(width, heads)
        self.ls1 = LayerScale(width)
        self.drop_path1 = DropPath()
        self.norm2 = nn.LayerNorm(width)
        self.mlp = Mlp(width)
        self.ls2 = LayerScale(width)
        self.drop_path2 = DropPath()

    def forward(self, x: Tensor) -> Tensor:
        """(B, N, width) to (B, N, width)."""
        x = x + self.drop_path1(self.ls1(self.attn(self.norm1(x))))
        return x + self.drop_path2(self.ls2(self.mlp(self.norm2(x))))


class VisionTransformer(nn.Module):
    """Tokens are ordered CLS, registers, patches (row by row)."""

    def __init__(self, config: ViTConfig) -> None:
        super().__init__()
        patches = (config.image_size // config.patch_size) ** 2
        self.patch_embed = nn.Conv2d(3, config.width, config.patch_size, stride=config.patch_size)
        self.cls_token = nn.Parameter(torch.randn(1, 1, config.width))
        self.register_tokens = nn.Parameter(torch.randn(1, config.registers, config.width))
        self.pos_embed = nn.Parameter(0.5 * torch.randn(1, patches, config.width))
        self.blocks = nn.ModuleList(Block(config.width, config.heads) for _ in range(config.depth))
        self.norm = nn.LayerNorm(config.width)

    def forward(self, images: Tensor) -> Tensor:
        """Images (B, 3, image_size, image_size) to the normalised CLS tokens (B, width)."""
        patches = self.patch_embed(images).flatten(2).transpose(1, 2) + self.pos_embed
        prefix = torch.cat([self.cls_token, self.register_tokens], dim=1).expand(images.size(0), -1, -1)
        x = torch.cat([prefix, patches], dim=1)
        for block in self.blocks:
            x = block(x)
        return self.norm(x)[:, 0]
