# Arrays in float64, and a distance that needs only the costs across.
import math

import numpy as np
import torch
from emd import transport_cost
from preprocess import is_counted
from torch import Tensor


def power_mean(layers: Tensor, exponent: float) -> Tensor:
    if exponent == math.inf:
        return layers.max(dim=0).values
    if exponent == -math.inf:
        return -(-layers).max(dim=0).values
    return (layers**exponent).mean(dim=0) ** (1.0 / exponent)


def pool_layers(embedding: Tensor) -> Tensor:
    top = embedding if len(embedding) < 5 else embedding[len(embedding) - 5 :]
    top = top / torch.linalg.vector_norm(top, dim=-1, keepdim=True)
    return torch.cat((top.amin(dim=0), top.mean(dim=0), top.amax(dim=0)), dim=-1)


def ngram_weights(weights: Tensor, n: int) -> Tensor:
    total = torch.cat([weights.new_zeros(1), weights.cumsum(dim=0)])
    return total[n:] - total[:-n]


def ngram_vectors(vectors: Tensor, weights: Tensor, n: int) -> Tensor:
    window = torch.stack([torch.arange(i, i + n) for i in range(len(weights) - n + 1)])
    return torch.einsum("ik,ikd->id", weights[window], vectors[window])


def _units(vectors: Tensor) -> np.ndarray:
    rows = vectors.numpy().astype(np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)


def cost_matrix(vectors: Tensor) -> Tensor:
    rows = torch.from_numpy(_units(vectors))
    squares = rows.square().sum(dim=1)
    return (squares[:, None] + squares - 2 * rows @ rows.T).clamp(min=0).to(vectors.dtype)


def text_distance(ref_vectors: Tensor, ref_weights: Tensor, hyp_vectors: Tensor, hyp_weights: Tensor) -> float:
    masses = [weights.numpy().astype(np.float64) for weights in (ref_weights, hyp_weights)]
    x, y = (_units(vectors)[mass > 0] for vectors, mass in zip((ref_vectors, hyp_vectors), masses))
    f, g = (mass[mass > 0] / mass.sum() for mass in masses)
    return transport_cost(f, g, ((x[:, None] - y) ** 2).sum(axis=2))


def similarity(distance: float) -> float:
    return 1.0 - distance


def mover_score(ref_embedding, ref_idf, ref_tokens, hyp_embedding, hyp_idf, hyp_tokens, n=None) -> list[float]:
    def ngrams(embedding: Tensor, idf: Tensor, tokens: list[str]) -> tuple[Tensor, Tensor]:
        columns = torch.tensor([k for k, token in enumerate(tokens) if is_counted(token)])
        vectors, weights = pool_layers(embedding[:, columns]), idf[columns]
        size = min(n or len(columns), len(columns))
        return ngram_vectors(vectors, weights, size), ngram_weights(weights, size)

    scores = []
    for b, (ref, hyp) in enumerate(zip(ref_tokens, hyp_tokens)):
        texts = *ngrams(ref_embedding[:, b], ref_idf[b], ref), *ngrams(hyp_embedding[:, b], hyp_idf[b], hyp)
        scores.append(similarity(text_distance(*texts)))
    return scores


def word_mover_score(ref_embedding, ref_idf, ref_tokens, hyp_embedding, hyp_idf, hyp_tokens) -> list[float]:
    return mover_score(ref_embedding, ref_idf, ref_tokens, hyp_embedding, hyp_idf, hyp_tokens, 1)
