"""A transformer layer with a mask, and a tiny text encoder in place of a pretrained language model."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class TransformerLayer(nn.Module):
    """Pre-norm layer: self-attention restricted by a mask, then a two-layer perceptron."""

    def __init__(self, width: int, heads: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.heads = heads
        self.attention_norm = nn.LayerNorm(width)
        self.query_key_value = nn.Linear(width, 3 * width)
        self.attention_out = nn.Linear(width, width)
        self.perceptron = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)
        )
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Transform a batch of sequences or graphs.

        Args:
            x: (B, N, width).
            mask: bool with three axes that broadcast to (B, N, N); row i is True where position i may attend.

        Returns:
            (B, N, width).
        """
        batch, count, width = x.shape
        projected = self.query_key_value(self.attention_norm(x))
        # (B, N, 3 * width) to three tensors of (B, heads, N, width / heads)
        query, key, value = projected.view(batch, count, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(query, key, value, attn_mask=mask.unsqueeze(1))
        x = x + self.dropout(self.attention_out(mixed.transpose(1, 2).reshape(batch, count, width)))
        return x + self.dropout(self.perceptron(x))


class TextEncoder(nn.Module):
    """Word embeddings with positions and one bidirectional transformer layer."""

    def __init__(self, vocabulary_size: int, width: int, heads: int, max_length: int = 160) -> None:
        super().__init__()
        self.words = nn.Embedding(vocabulary_size, width, padding_idx=0)
        self.positions = nn.Embedding(max_length, width)
        nn.init.normal_(self.positions.weight, std=0.1)
        self.layer = TransformerLayer(width, heads, dropout=0.1)

    def forward(self, input_ids: Tensor, is_token: Tensor) -> Tensor:
        """Encode documents.

        Args:
            input_ids: (B, T) int64, 0 for padding.
            is_token: (B, T) bool, False for padding.

        Returns:
            (B, T, width) hidden states.
        """
        positions = torch.arange(input_ids.size(1), device=input_ids.device)
        embedded = self.words(input_ids) + self.positions(positions)
        return self.layer(embedded, is_token.unsqueeze(1))


def window_starts(length: int, size: int, step: int) -> list[int]:
    """Where the windows of a document start, in rising order; positions count from 0.

    Args:
        length: number of tokens, at least 1.
        size: most tokens in a window.
        step: step size of the paper, from 1 to `size`.
    """
    return [start for start in range(0, length, step) if start == 0 or start + size - step < length]


def encode_windows(
    encode: Callable[[Tensor, Tensor], Tensor], input_ids: Tensor, is_token: Tensor, size: int, step: int
) -> Tensor:
    """Encode documents window by window.

    Args:
        encode: encodes token ids (B, T) with their mask (B, T), where T is at most `size`, to (B, T, width).
        input_ids: (B, T) int64; a document's tokens come first, then padding.
        is_token: (B, T) bool, False for padding; each document has a token.
        size, step: as in `window_starts`.

    Returns:
        (B, T, width) hidden states, zero for padding.
    """
    rows = []
    for ids, mask in zip(input_ids, is_token, strict=True):
        length = int(mask.sum())
        total, windows = 0, torch.zeros(len(ids), 1, device=ids.device)
        for start in window_starts(length, size, step):
            end = min(start + size, length)
            hidden = encode(ids[None, start:end], mask[None, start:end])[0]
            total = total + F.pad(hidden, (0, 0, start, len(ids) - end))
            windows[start:end] += 1
        rows.append(total / windows.clamp(min=1))
    return torch.stack(rows)
