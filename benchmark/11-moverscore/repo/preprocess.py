"""Which word pieces count, and how texts become a padded batch."""

import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from encoder import LayeredEncoder
from torch import Tensor

#: How many of an encoder's highest layers make up a token's vector. Layers differ in scale: the vectors of each are
#: brought to unit length before pooling, as pooled vectors are before they are compared.
POOLED_LAYERS = 5
#: Marks the pieces of a word that continue it.
CONTINUATION = "##"
PUNCTUATION = frozenset(string.punctuation)


def is_counted(token: str) -> bool:
    """Whether a token takes part in the score."""
    return token not in PUNCTUATION and CONTINUATION not in token


@dataclass(frozen=True)
class LayeredTokens:
    """One side of a batch: B texts, the longest of which has K tokens.

    Attributes:
        embedding: (L, B, K, d) float32, all layers; zero vectors on padding.
        idf: (B, K) float32 weights, 0 on padding.
        tokens: B lists of tokens, without padding.
    """

    embedding: Tensor
    idf: Tensor
    tokens: list[list[str]]


def collate(
    texts: Sequence[str],
    tokenize: Callable[[str], list[str]],
    encoder: LayeredEncoder,
    idf: dict[str, float],
    unseen_idf: float,
) -> LayeredTokens:
    """Tokenize, encode and weigh texts, and pad them on the right.

    Args:
        texts: B texts.
        tokenize: gives the tokens of a text, special tokens included.
        encoder: gives all layers of a sequence of tokens.
        idf: weight of each known token.
        unseen_idf: weight of all others.
    """
    tokens = [tokenize(text) for text in texts]
    longest = max(map(len, tokens))
    layers = [encoder.encode(sequence) for sequence in tokens]
    embedding = torch.zeros(layers[0].shape[0], len(texts), longest, layers[0].shape[2])
    weights = torch.zeros(len(texts), longest)
    for i, sequence in enumerate(tokens):
        embedding[:, i, : len(sequence)] = layers[i]
        weights[i, : len(sequence)] = torch.tensor([idf.get(token, unseen_idf) for token in sequence])
    return LayeredTokens(embedding, weights, tokens)
