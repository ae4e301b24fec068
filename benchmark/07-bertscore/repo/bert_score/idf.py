"""Token weights: inverse document frequency, or one weight for all; special tokens never count."""

import math
from collections import Counter
from collections.abc import Callable, Sequence

#: Maps a token id to its weight.
TokenWeights = Callable[[int], float]


def idf_weights(documents: Sequence[Sequence[int]], special_ids: frozenset[int]) -> TokenWeights:
    """Inverse document frequency of any token; 0 for special tokens.

    Args:
        documents: token ids of the texts that are counted.
        special_ids: ids of special tokens.
    """
    containing = Counter(token for document in documents for token in set(document))

    def weight(token: int) -> float:
        return 0.0 if token in special_ids else math.log((len(documents) + 1) / (containing[token] + 1))

    return weight


def uniform_weights(special_ids: frozenset[int]) -> TokenWeights:
    """Weight 1 for every token; 0 for special tokens."""

    def weight(token: int) -> float:
        return 0.0 if token in special_ids else 1.0

    return weight
