import numpy as np
import torch
from emd import emd
from preprocess import POOLED_LAYERS, is_counted
from torch import Tensor


def _pooled(embedding: Tensor) -> np.ndarray:
    layers = embedding.numpy().astype(np.float64)[-POOLED_LAYERS:]
    with np.errstate(invalid="ignore", divide="ignore"):
        units = layers / np.linalg.norm(layers, axis=-1)[..., None]
    return np.concatenate([units.min(axis=0), units.mean(axis=0), units.max(axis=0)], axis=-1)


def word_mover_score(
    ref_embedding: Tensor,
    ref_idf: Tensor,
    ref_tokens: list[list[str]],
    hyp_embedding: Tensor,
    hyp_idf: Tensor,
    hyp_tokens: list[list[str]],
) -> list[float]:
    scores = []
    sides = [(_pooled(ref_embedding), ref_idf, ref_tokens), (_pooled(hyp_embedding), hyp_idf, hyp_tokens)]
    for b in range(len(ref_tokens)):
        vectors, masses = [], []
        for pooled, idf, tokens in sides:
            columns = np.flatnonzero([is_counted(token) for token in tokens[b]])
            weights = idf[b].numpy().astype(np.float64)[columns]
            rows = pooled[b][columns] * (weights / (weights + 1e-5))[:, None]
            if not len(columns):
                rows, weights = np.zeros((1, pooled.shape[-1])), np.zeros(1)
            vectors.append(rows / (np.linalg.norm(rows, axis=1)[:, None] + 1e-6))
            masses.append(weights / (weights.sum() + 1e-5))
        n, (x, y) = len(masses[0]), masses
        rows = np.concatenate(vectors)
        squares = (rows**2).sum(axis=1)
        cost = np.maximum(squares[:, None] + squares - 2 * rows @ rows.T, 0)
        # One more bin takes or gives what is left over, at the largest cost.
        size = len(rows) + 1
        padded = np.full((size, size), cost.max())
        padded[:-1, :-1] = cost
        p, q = np.zeros(size), np.zeros(size)
        p[:n], q[n:-1] = x, y
        p[-1], q[-1] = max(0.0, y.sum() - x.sum()), max(0.0, x.sum() - y.sum())
        scores.append(1.0 - emd(p, q, padded))
    return scores
