"""Word pieces: known words are one piece, inflected ones are cut into a known word and `##` endings."""

import re
import string
from collections import Counter
from collections.abc import Iterable

UNKNOWN, CLS, SEP = SPECIAL_TOKENS = ("[UNK]", "[CLS]", "[SEP]")
ENDINGS = ("s", "es", "ed", "d", "ing", "ly", "er", "r")


class WordPieceTokenizer:
    """Cuts texts into pieces; the vocabulary is fixed by the corpus given at construction.

    Attributes:
        pieces: all pieces in order, special tokens first.
    """

    def __init__(self, corpus: Iterable[str], min_count: int = 2) -> None:
        counts = Counter(word for text in corpus for word in split_words(text))
        words = {word for word, count in counts.items() if count >= min_count}
        # A word that is another one with an ending needs no piece of its own.
        stems = {word for word in words if not any(word == stem + ending for stem in words for ending in ENDINGS)}
        tails = [f"##{tail}" for tail in (*ENDINGS, *string.ascii_lowercase)]
        single = [*string.ascii_lowercase, *string.punctuation]
        self.pieces = list(dict.fromkeys([*SPECIAL_TOKENS, *sorted(stems), *single, *tails]))
        self._known = frozenset(self.pieces)

    def tokenize(self, text: str) -> list[str]:
        """`[CLS]`, the pieces of all words and punctuation marks of the text, `[SEP]`."""
        return [CLS, *(piece for word in split_words(text) for piece in self._cut(word)), SEP]

    def _cut(self, word: str) -> list[str]:
        """Pieces of one word: at each place the longest that is known; `[UNK]` if a letter is not known."""
        found: list[str] = []
        start = 0
        while start < len(word):
            prefix = "##" if start else ""
            candidates = (prefix + word[start:end] for end in range(len(word), start, -1))
            piece = next((candidate for candidate in candidates if candidate in self._known), None)
            if piece is None:
                return [UNKNOWN]
            found.append(piece)
            start += len(piece) - len(prefix)
        return found


def split_words(text: str) -> list[str]:
    """Lower-case words, runs of full stops, and other punctuation marks one by one."""
    return re.findall(r"\w+|\.{2,}|[^\w\s]", text.lower())
