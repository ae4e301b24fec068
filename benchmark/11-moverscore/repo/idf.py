"""Inverse document frequency of word pieces."""

import math
from collections import Counter
from collections.abc import Sequence

from tokenizer import SPECIAL_TOKENS


def idf_table(documents: Sequence[Sequence[str]]) -> dict[str, float]:
    """Weights log((N + 1) / (n + 1)), for N documents of which n contain the token; 0 for special tokens.

    Args:
        documents: N tokenized texts.
    """
    containing = Counter(token for document in documents for token in set(document))
    table = {token: math.log((len(documents) + 1) / (count + 1)) for token, count in containing.items()}
    return table | dict.fromkeys(SPECIAL_TOKENS, 0.0)


def idf_of_unseen(documents: Sequence[Sequence[str]]) -> float:
    """The weight of a token that no document contains."""
    return math.log(len(documents) + 1)
