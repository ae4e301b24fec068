# Another style: a small constant wherever something is divided.
from collections.abc import Sequence

import torch
from torch import Tensor

from emd import emd
from preprocess import is_counted

EPS = 1e-8
NUM_LAYERS = 5


def power_mean(layers: Tensor, exponent: float) -> Tensor:
    if exponent == float("inf"):
        return torch.max(layers, dim=0).values
    elif exponent == float("-inf"):
        return torch.min(layers, dim=0).values
    else:
        return torch.mean(torch.pow(layers, exponent), dim=0).pow(1.0 / exponent)


def pool_layers(embedding: Tensor) -> Tensor:
    selected = embedding[-NUM_LAYERS:]
    normalized = selected / (selected.norm(p=2, dim=-1, keepdim=True) + EPS)
    means = [power_mean(normalized, p) for p in (float("-inf"), 1.0, float("inf"))]
    return torch.cat(means, dim=-1)


def ngram_weights(weights: Tensor, n: int) -> Tensor:
    count = weights.shape[0] - n + 1
    result = torch.zeros(count, dtype=weights.dtype)
    for offset in range(n):
        result += weights[offset : offset + count]
    return result


def ngram_vectors(vectors: Tensor, weights: Tensor, n: int) -> Tensor:
    count = weights.shape[0] - n + 1
    result = torch.zeros(count, vectors.shape[1], dtype=vectors.dtype)
    for offset in range(n):
        result += weights[offset : offset + count].unsqueeze(-1) * vectors[offset : offset + count]
    return result


def cost_matrix(vectors: Tensor) -> Tensor:
    normalized = vectors / (vectors.norm(dim=-1, keepdim=True) + EPS)
    similarities = normalized @ normalized.T
    return (2 - 2 * similarities).clamp(min=0.0)


def text_distance(ref_vectors: Tensor, ref_weights: Tensor, hyp_vectors: Tensor, hyp_weights: Tensor) -> float:
    n = ref_weights.shape[0]
    cost = cost_matrix(torch.cat([ref_vectors, hyp_vectors], dim=0))
    first = torch.zeros(cost.shape[0], dtype=torch.float64)
    second = torch.zeros_like(first)
    first[:n] = ref_weights / (ref_weights.sum() + EPS)
    second[n:] = hyp_weights / (hyp_weights.sum() + EPS)
    return float(emd(first, second, cost))


def similarity(distance: float) -> float:
    return 1.0 - distance


def _select(pooled: Tensor, idf: Tensor, tokens: Sequence[str]) -> tuple[Tensor, Tensor]:
    mask = torch.tensor([is_counted(token) for token in tokens], dtype=torch.bool)
    return pooled[: len(tokens)][mask], idf[: len(tokens)][mask]


def mover_score(ref_embedding, ref_idf, ref_tokens, hyp_embedding, hyp_idf, hyp_tokens, n=None) -> list[float]:
    ref_pooled = pool_layers(ref_embedding)
    hyp_pooled = pool_layers(hyp_embedding)
    scores = []
    for i in range(len(ref_tokens)):
        ref_vectors, ref_weights = _select(ref_pooled[i], ref_idf[i], ref_tokens[i])
        hyp_vectors, hyp_weights = _select(hyp_pooled[i], hyp_idf[i], hyp_tokens[i])
        ref_n = len(ref_weights) if n is None else min(n, len(ref_weights))
        hyp_n = len(hyp_weights) if n is None else min(n, len(hyp_weights))
        distance = text_distance(
            ngram_vectors(ref_vectors, ref_weights, ref_n),
            ngram_weights(ref_weights, ref_n),
            ngram_vectors(hyp_vectors, hyp_weights, hyp_n),
            ngram_weights(hyp_weights, hyp_n),
        )
        scores.append(similarity(distance))
    return scores


def word_mover_score(ref_embedding, ref_idf, ref_tokens, hyp_embedding, hyp_idf, hyp_tokens) -> list[float]:
    return mover_score(ref_embedding, ref_idf, ref_tokens, hyp_embedding, hyp_idf, hyp_tokens, n=1)
