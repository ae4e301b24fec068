"""A tiny causal transformer that returns all of its hidden states, with a word-level tokeniser and a short training."""

import random
import re
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Output(NamedTuple):
    """What the model returns.

    Attributes:
        logits: (B, T, vocabulary_size).
        hidden_states: layers + 1 tensors (B, T, width): the embeddings, then the output of each layer. So -1 is the
            last layer, and -layers the first.
    """

    logits: Tensor
    hidden_states: tuple[Tensor, ...]


class Tokenizer:
    """Words and punctuation marks in lower case; a word that is not known becomes the unknown token."""

    PAD, UNKNOWN = 0, 1

    def __init__(self, texts: list[str]) -> None:
        words = sorted({word for text in texts for word in self.split(text)})
        self.ids = {word: index for index, word in enumerate(words, start=2)}

    def __len__(self) -> int:
        return len(self.ids) + 2

    @staticmethod
    def split(text: str) -> list[str]:
        """Runs of letters and single punctuation marks."""
        return re.findall(r"[a-z]+|[^\sa-z]", text.lower())

    def encode(self, text: str) -> list[int]:
        """Token ids of one text."""
        return [self.ids.get(word, self.UNKNOWN) for word in self.split(text)]

    def __call__(self, texts: list[str]) -> Tensor:
        """Token ids (B, T), padded on the left: all texts end at position -1."""
        encoded = [self.encode(text) for text in texts]
        length = max(map(len, encoded))
        return torch.tensor([[self.PAD] * (length - len(ids)) + ids for ids in encoded])


class Layer(nn.Module):
    """Pre-norm attention and feed-forward block."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.attention_norm, self.feed_forward_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.mix = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.feed_forward = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x: Tensor, visible: Tensor) -> Tensor:
        """(B, T, width) to (B, T, width); `visible` (B, 1, T, T) says which key each query may look at."""
        batch, length, width = x.shape
        qkv = self.qkv(self.attention_norm(x)).view(batch, length, 3, self.heads, width // self.heads)
        query, key, value = qkv.permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(query, key, value, attn_mask=visible)
        x = x + self.mix(attended.transpose(1, 2).reshape(batch, length, width))
        return x + self.feed_forward(self.feed_forward_norm(x))


class CausalLM(nn.Module):
    """Next-token model without positional embeddings: the causal mask alone tells it the order."""

    def __init__(self, vocabulary_size: int, layers: int = 5, width: int = 32, heads: int = 4, seed: int = 0) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.embedding = nn.Embedding(vocabulary_size, width)
        self.layers = nn.ModuleList(Layer(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary_size, bias=False)

    def forward(self, input_ids: Tensor) -> Output:
        """Logits and hidden states of `input_ids` (B, T); padding is not attended to."""
        length = input_ids.size(1)
        causal = torch.ones(length, length, dtype=torch.bool).tril()
        padding = (input_ids == Tokenizer.PAD)[:, None, None, :]
        # A position may always look at itself, so that no row of the softmax is empty.
        visible = causal & (~padding | torch.eye(length, dtype=torch.bool))
        hidden_states = [self.embedding(input_ids)]
        for layer in self.layers:
            hidden_states.append(layer(hidden_states[-1], visible))
        return Output(self.head(self.norm(hidden_states[-1])), tuple(hidden_states))


def train(model: CausalLM, tokenizer: Tokenizer, lessons: list[str], steps: int = 600, batch_size: int = 96) -> float:
    """Teach the model to predict the last token of each lesson; return the mean loss of the last 20 steps."""
    rng = random.Random(0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=steps)
    losses = []
    for _ in range(steps):
        tokens = tokenizer(rng.choices(lessons, k=batch_size))
        loss = F.cross_entropy(model(tokens[:, :-1]).logits[:, -1], tokens[:, -1])
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    model.eval()
    return sum(losses[-20:]) / 20
