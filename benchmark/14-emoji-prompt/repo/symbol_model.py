"""Stand-in for the language model that writes symbols: it prefers those whose names resemble the text."""

import unicodedata
from collections.abc import Sequence

import numpy as np
from embeddings import embed_text
from obfuscation import SYMBOLS

#: Size of the vectors by which texts and names are compared.
INNER_DIM = 64


class SymbolModel:
    """Writes one symbol after the other; symbols are named by their ids, from 0 on.

    Args:
        sharpness: how much resemblance counts.
        seed: fixes which symbols like to follow each other.

    Attributes:
        symbols: the V symbols.
        names: name of each symbol, in lower case.
    """

    def __init__(self, sharpness: float = 6.0, seed: int = 0) -> None:
        self.symbols = tuple(SYMBOLS)
        self.names = tuple(unicodedata.name(symbol).lower() for symbol in self.symbols)
        self.sharpness = sharpness
        self._name_vectors = np.stack([self._unit(name) for name in self.names])
        self._follows = np.random.default_rng(seed).normal(size=(len(SYMBOLS), len(SYMBOLS)))
        self._resemblance: dict[str, np.ndarray] = {}

    def next_logits(self, text: str, prefix: Sequence[int]) -> np.ndarray:
        """Logits (V,), float64, of the next symbol, given the text to rewrite and the symbols written so far."""
        logits = self.sharpness * self.resemblance(text)
        return logits + self._follows[prefix[-1]] if prefix else logits

    def resemblance(self, text: str) -> np.ndarray:
        """How much a text resembles the name of each symbol: (V,), float64, from -1 to 1."""
        if text not in self._resemblance:
            self._resemblance[text] = self._name_vectors @ self._unit(text)
        return self._resemblance[text].copy()

    def ids(self, symbols: str) -> tuple[int, ...]:
        """The sequence of ids that a string of symbols stands for."""
        return tuple(self.symbols.index(symbol) for symbol in symbols)

    def text(self, sequence: Sequence[int]) -> str:
        """The string of symbols that a sequence of ids stands for."""
        return "".join(self.symbols[symbol] for symbol in sequence)

    @staticmethod
    def _unit(text: str) -> np.ndarray:
        vector = embed_text(text, INNER_DIM).astype(np.float64)
        return vector / max(np.linalg.norm(vector), 1.0)
