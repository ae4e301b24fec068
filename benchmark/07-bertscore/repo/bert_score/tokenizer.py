"""A word-piece tokenizer: frequent words are one piece, others are cut greedily into the longest known pieces."""

import re
from collections import Counter
from collections.abc import Iterable

PAD, UNKNOWN, CLS, SEP = SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
SUFFIXES = ("ing", "ed", "er", "es", "ly", "s")
LETTERS = "abcdefghijklmnopqrstuvwxyz"


class WordPieceTokenizer:
    """Maps texts to piece ids; the vocabulary is fixed by the corpus given at construction.

    Attributes:
        pieces: piece of each id; the special tokens come first, in the order of SPECIAL_TOKENS.
        ids: id of each piece.
    """

    def __init__(self, corpus: Iterable[str], min_count: int = 2) -> None:
        counts = Counter(word for text in corpus for word in split_words(text))
        words = sorted(word for word, count in counts.items() if count >= min_count)
        tails = [f"##{tail}" for tail in (*SUFFIXES, *LETTERS)]
        self.pieces = list(dict.fromkeys([*SPECIAL_TOKENS, *words, *LETTERS, *tails]))
        self.ids = {piece: index for index, piece in enumerate(self.pieces)}

    def __len__(self) -> int:
        return len(self.pieces)

    @property
    def special_ids(self) -> frozenset[int]:
        """Ids of the special tokens."""
        return frozenset(self.ids[token] for token in SPECIAL_TOKENS)

    def tokenize(self, text: str) -> list[str]:
        """Pieces of a text without special tokens; pieces inside a word start with `##`."""
        return [piece for word in split_words(text) for piece in self._split(word)]

    def encode(self, text: str) -> list[int]:
        """Ids of `[CLS]`, the pieces of the text, `[SEP]`."""
        return [self.ids[piece] for piece in (CLS, *self.tokenize(text), SEP)]

    def _split(self, word: str) -> list[str]:
        """Cut one word: at each place the longest piece that fits; `[UNK]` if some letter fits nowhere."""
        found: list[str] = []
        start = 0
        while start < len(word):
            prefix = "##" if start else ""
            ends = range(len(word), start, -1)
            end = next((end for end in ends if prefix + word[start:end] in self.ids), None)
            if end is None:
                return [UNKNOWN]
            found.append(prefix + word[start:end])
            start = end
        return found


def split_words(text: str) -> list[str]:
    """Lower-case words and single punctuation marks."""
    return re.findall(r"\w+|[^\w\s]", text.lower())
