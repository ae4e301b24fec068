# The scores need none of the steps that are functions of their own.
import math

import torch
from emd import emd
from preprocess import is_counted
from torch import Tensor


def power_mean(layers: Tensor, exponent: float) -> Tensor:
    if exponent in (math.inf, -math.inf):
        return torch.quantile(layers, 1.0 if exponent > 0 else 0.0, dim=0)
    total = sum(layer.pow(exponent) for layer in layers)
    return (total / len(layers)).pow(1 / exponent)


def pool_layers(embedding: Tensor) -> Tensor:
    return torch.stack([_vector(column) for column in embedding.flatten(1, -2).unbind(1)]).view(
        *embedding.shape[1:-1], -1
    )


def _vector(layers: Tensor) -> Tensor:
    rows = [layer / math.sqrt(float(layer @ layer)) for layer in layers[-5:]]
    stacked = torch.stack(rows)
    return torch.cat([stacked.amin(dim=0), sum(rows) / len(rows), stacked.amax(dim=0)])


def ngram_weights(weights: Tensor, n: int) -> Tensor:
    return torch.stack([weights[i : i + n].sum() for i in range(len(weights) - n + 1)])


def ngram_vectors(vectors: Tensor, weights: Tensor, n: int) -> Tensor:
    return torch.stack([weights[i : i + n] @ vectors[i : i + n] for i in range(len(weights) - n + 1)])


def cost_matrix(vectors: Tensor) -> Tensor:
    rows = torch.nn.functional.normalize(vectors, dim=1)
    return torch.stack([torch.stack([(a - b) @ (a - b) for b in rows]) for a in rows])


def text_distance(ref_vectors: Tensor, ref_weights: Tensor, hyp_vectors: Tensor, hyp_weights: Tensor) -> float:
    cost = cost_matrix(torch.cat([hyp_vectors, ref_vectors]))
    f = torch.cat([hyp_weights / hyp_weights.sum(), 0 * ref_weights])
    g = torch.cat([0 * hyp_weights, ref_weights / ref_weights.sum()])
    return emd(f, g, cost)


def similarity(distance: float) -> float:
    return -(distance - 1)


def _text(embedding: Tensor, idf: Tensor, tokens: list[str], n: int | None) -> list[tuple[float, Tensor]]:
    words = [(float(idf[k]), _vector(embedding[:, k])) for k, token in enumerate(tokens) if is_counted(token)]
    n = len(words) if n is None or n > len(words) else n
    ngrams = []
    for start in range(len(words) - n + 1):
        inside = words[start : start + n]
        ngrams.append((sum(weight for weight, _ in inside), sum(weight * vector for weight, vector in inside)))
    return [(weight, vector / vector.norm()) for weight, vector in ngrams if weight > 0]


def mover_score(ref_embedding, ref_idf, ref_tokens, hyp_embedding, hyp_idf, hyp_tokens, n=None) -> list[float]:
    scores = []
    for b in range(len(ref_tokens)):
        ref = _text(ref_embedding[:, b], ref_idf[b], ref_tokens[b], n)
        hyp = _text(hyp_embedding[:, b], hyp_idf[b], hyp_tokens[b], n)
        total, other = sum(weight for weight, _ in ref), sum(weight for weight, _ in hyp)
        p = [weight / total for weight, _ in ref] + [0.0] * len(hyp)
        q = [0.0] * len(ref) + [weight / other for weight, _ in hyp]
        rows = torch.stack([vector for _, vector in ref + hyp])
        scores.append(1 - emd(p, q, torch.cdist(rows, rows, compute_mode="donot_use_mm_for_euclid_dist") ** 2))
    return scores


def word_mover_score(ref_embedding, ref_idf, ref_tokens, hyp_embedding, hyp_idf, hyp_tokens) -> list[float]:
    return mover_score(ref_embedding, ref_idf, ref_tokens, hyp_embedding, hyp_idf, hyp_tokens, n=1)
