"""Inverse document frequency of word pieces."""

import math
from collections import Counter
from collections.abc import Sequence

from tokenizer import SPECIAL_TOKENS


def inverse_frequency(documents: int, containing: int) -> float:
    """Inverse document frequency of a token.

    Args:
        documents: number of documents.
        containing: number of those that contain the token; 0 for a token that was never seen.
    """
    return math.log((documents + 1) / (containing + 1))


def idf_table(documents: Sequence[Sequence[str]]) -> dict[str, float]:
    """Inverse document frequency of each token that occurs in some documents; 0 for special tokens.

    Args:
        documents: N tokenized texts.
    """
    containing = Counter(token for document in documents for token in set(document))
    table = {token: inverse_frequency(len(documents), count) for token, count in containing.items()}
    return table | dict.fromkeys(SPECIAL_TOKENS, 0.0)


def idf_of_unseen(documents: Sequence[Sequence[str]]) -> float:
    """The weight of a token that no document contains."""
    return inverse_frequency(len(documents), 0)
