"""A bigram language model: the logits of the next token depend on the last one alone."""

import torch
from torch import Tensor


class BigramModel:
    """Smoothed counts of pairs of characters."""

    def __init__(self, text: str, smoothing: float) -> None:
        self.vocabulary = sorted(set(text))
        ids = self.encode(text)
        counts = torch.full((len(self.vocabulary),) * 2, smoothing)
        for first, second in zip(ids[:-1], ids[1:], strict=True):
            counts[first, second] += 1
        self.table = (counts / counts.sum(-1, keepdim=True)).log()

    def encode(self, text: str) -> Tensor:
        """Token ids of a text."""
        return torch.tensor([self.vocabulary.index(character) for character in text])

    def decode(self, ids: Tensor) -> str:
        """The text of token ids."""
        return "".join(self.vocabulary[index] for index in ids.tolist())

    def __call__(self, last: Tensor) -> Tensor:
        """(B,) last tokens -> (B, V) logits."""
        return self.table[last]
