"""A transformer neural process: a transformer from scratch that reads points as vectors instead of text."""

import torch
from torch import Tensor, nn


class Block(nn.Module):
    """One layer of a transformer: self-attention under a mask and a feed-forward part, each with a residual."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.attention_norm, self.mlp_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """New tokens (b, t, width) from tokens (b, t, width) and a mask as `attention_mask` makes it."""
        batch, length, width = tokens.shape
        parts = self.qkv(self.attention_norm(tokens)).view(batch, length, 3, self.heads, -1)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        scores = query @ key.transpose(-1, -2) / key.size(-1) ** 0.5
        mixed = scores.masked_fill(~mask, float("-inf")).softmax(dim=-1) @ value
        tokens = tokens + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return tokens + self.mlp(self.mlp_norm(tokens))


def point_tokens(context_x: Tensor, context_y: Tensor, query_x: Tensor, classes: int) -> Tensor:
    """Input vectors of the transformer neural process, one for each point.

    Args:
        context_x: (b, m, d), features as `generate_x_y` scales them.
        context_y: (b, m), labels, int64.
        query_x: (b, q, d).
        classes: K.

    Returns:
        (b, m + q, d + K), in the dtype of the features: the context first, then the queries.
    """
    features = torch.cat([context_x, query_x], dim=1) / 50 - 1
    labels = features.new_zeros(*features.shape[:2], classes)
    labels[:, : context_x.size(1)] = nn.functional.one_hot(context_y, classes).to(labels.dtype)
    return torch.cat([features, labels], dim=-1)


def attention_mask(context: int, queries: int) -> Tensor:
    """Mask of the attention among m context tokens and q query tokens, which stand in this order.

    Returns:
        bool (m + q, m + q): True in row i and column j if token i attends to token j.
    """
    mask = torch.eye(context + queries, dtype=torch.bool)
    mask[:, :context] = True
    return mask


class TransformerNeuralProcess(nn.Module):
    """Predicts the labels of queries from labelled points.

    Attributes:
        classes: number of classes, K.
        embed: network from the vector of a point, d + K numbers, to a token of `width` numbers.
        blocks: layers, each called with tokens and a mask.
        head: network from a token that has passed all layers to K logits.
    """

    def __init__(self, width: int = 32, layers: int = 2, heads: int = 2, features: int = 2, classes: int = 2) -> None:
        super().__init__()
        self.classes = classes
        self.embed = nn.Sequential(nn.Linear(features + classes, width), nn.GELU(), nn.Linear(width, width))
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.head = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, classes))

    def forward(self, context_x: Tensor, context_y: Tensor, query_x: Tensor) -> Tensor:
        """Logits (b, q, K) of the queries, from a context (b, m, d) with labels (b, m), and queries (b, q, d)."""
        tokens = self.embed(point_tokens(context_x, context_y, query_x, self.classes))
        mask = attention_mask(context_x.size(1), query_x.size(1)).to(tokens.device)
        for block in self.blocks:
            tokens = block(tokens, mask)
        return self.head(tokens[:, context_x.size(1) :])
