"""MoverScore of a batch of pairs: vectors of tokens and n-grams, the distance of two texts, and the score."""

import math

import torch
from emd import emd
from preprocess import POOLED_LAYERS, is_counted
from torch import Tensor

#: Exponents of the power means that make up a token's vector, in their order.
EXPONENTS = (-math.inf, 1.0, math.inf)


def power_mean(layers: Tensor, exponent: float) -> Tensor:
    """Power mean of several layers, elementwise: h^(p) of the paper.

    Args:
        layers: (L, ...); all numbers are positive unless the exponent is 1 or infinite.
        exponent: p of the paper, a number other than 0, `math.inf` or `-math.inf`.

    Returns:
        (...).
    """
    if math.isinf(exponent):
        return layers.amax(0) if exponent > 0 else layers.amin(0)
    return layers.pow(exponent).mean(0).pow(1 / exponent)


def pool_layers(embedding: Tensor) -> Tensor:
    """Contextual vectors of tokens, from the layers of an encoder: E of the paper for single words.

    Args:
        embedding: (L, ..., d) all layers, from the lowest to the highest. Vectors are not zero, except on padding.

    Returns:
        (..., D), where the paper determines D.
    """
    layers = embedding[-POOLED_LAYERS:]
    units = layers / layers.square().sum(-1, keepdim=True).sqrt()
    return torch.cat([power_mean(units, exponent) for exponent in EXPONENTS], -1)


def ngram_weights(weights: Tensor, n: int) -> Tensor:
    """Weights of all n-grams of a text, from the first to the last, before they are normalised.

    Args:
        weights: (m,) non-negative weights of the words.
        n: words of an n-gram, from 1 to m.

    Returns:
        (m - n + 1,).
    """
    return weights.unfold(0, n, 1).sum(1)


def ngram_vectors(vectors: Tensor, weights: Tensor, n: int) -> Tensor:
    """Embeddings of all n-grams of a text, from the first to the last: E of the paper.

    Args:
        vectors: (m, D) vectors of the words.
        weights: (m,) non-negative weights of the words.
        n: words of an n-gram, from 1 to m.

    Returns:
        (m - n + 1, D), each n-gram up to a positive factor.
    """
    inside = weights.unfold(0, n, 1)
    shares = inside / (inside.sum(1, keepdim=True) + 1e-5)
    return (vectors.unfold(0, n, 1) * shares.unsqueeze(1)).sum(2)


def cost_matrix(vectors: Tensor) -> Tensor:
    """Cost of moving one unit of mass from one n-gram to another: C of the paper.

    Args:
        vectors: (m, D) embeddings of n-grams, up to a positive factor each. Those without any weight may be zero.

    Returns:
        (m, m), finite everywhere.
    """
    rows = vectors / (vectors.square().sum(1, keepdim=True).sqrt() + 1e-6)
    return (rows.unsqueeze(1) - rows).square().sum(-1)


def text_distance(ref_vectors: Tensor, ref_weights: Tensor, hyp_vectors: Tensor, hyp_weights: Tensor) -> float:
    """Distance of two texts, from their n-grams.

    Args:
        ref_vectors: (r, D) embeddings of the reference's n-grams.
        ref_weights: (r,) non-negative weights, before they are normalised.
        hyp_vectors: (h, D) embeddings of the candidate's n-grams.
        hyp_weights: (h,) non-negative weights, before they are normalised.
    """
    cost = cost_matrix(torch.cat([ref_vectors, hyp_vectors]))
    histograms = torch.block_diag(ref_weights, hyp_weights)  # (2, r + h): each side has bins of its own
    histograms = histograms / (histograms.sum(1, keepdim=True) + 1e-5)
    return emd(*histograms, cost)


def similarity(distance: float) -> float:
    """Score of two texts that are this far apart."""
    return 1 - distance


def mover_score(
    ref_embedding: Tensor,
    ref_idf: Tensor,
    ref_tokens: list[list[str]],
    hyp_embedding: Tensor,
    hyp_idf: Tensor,
    hyp_tokens: list[list[str]],
    n: int | None = None,
) -> list[float]:
    """MoverScore of each candidate and its reference on n-grams.

    Args:
        ref_embedding, ref_idf, ref_tokens, hyp_embedding, hyp_idf, hyp_tokens: as for `word_mover_score`.
        n: words of an n-gram, at least 1; None for texts as wholes.

    Returns:
        B similarities.
    """
    sides = [(pool_layers(ref_embedding), ref_idf, ref_tokens), (pool_layers(hyp_embedding), hyp_idf, hyp_tokens)]
    scores = []
    for i in range(len(ref_tokens)):
        parts: list[Tensor] = []
        for pooled, idf, tokens in sides:
            kept = [k for k, token in enumerate(tokens[i]) if is_counted(token)]
            if not kept:
                parts += [pooled.new_zeros(1, pooled.shape[2]), idf.new_zeros(1)]
                continue
            size = len(kept) if n is None else min(n, len(kept))
            weights = idf[i, kept]
            parts += [ngram_vectors(pooled[i, kept], weights, size), ngram_weights(weights, size)]
        scores.append(similarity(text_distance(*parts)))
    return scores


def word_mover_score(
    ref_embedding: Tensor,
    ref_idf: Tensor,
    ref_tokens: list[list[str]],
    hyp_embedding: Tensor,
    hyp_idf: Tensor,
    hyp_tokens: list[list[str]],
) -> list[float]:
    """Word mover similarity of each candidate and its reference.

    L layers, B pairs, K and J positions, vectors of d numbers. All tensors have one floating-point dtype. Column k of a
    side's tensors belongs to token k of its list; columns beyond the end of the list are padding and mean nothing.

    Args:
        ref_embedding: (L, B, K, d) all layers of the references, from the lowest to the highest.
        ref_idf: (B, K) non-negative weights of the reference tokens.
        ref_tokens: B lists of at most K word pieces, special tokens and punctuation included.
        hyp_embedding: (L, B, J, d) all layers of the candidates.
        hyp_idf: (B, J) non-negative weights of the candidate tokens.
        hyp_tokens: B lists of at most J word pieces.

    Returns:
        B similarities.
    """
    return mover_score(ref_embedding, ref_idf, ref_tokens, hyp_embedding, hyp_idf, hyp_tokens, n=1)
