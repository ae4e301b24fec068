import numpy as np
import torch
from preprocess import POOLED_LAYERS, is_counted
from scipy.optimize import linprog
from torch import Tensor


def _cheapest(supply: np.ndarray, demand: np.ndarray, cost: np.ndarray) -> float:
    """Cost of moving min(total supply, total demand), all of it as an n x m linear program."""
    n, m = cost.shape
    total = min(supply.sum(), demand.sum())
    if total == 0:
        return 0.0
    limits = np.zeros((n + m, n * m))
    for i in range(n):
        limits[i, i * m : (i + 1) * m] = 1
    for j in range(m):
        limits[n + j, j::m] = 1
    bounds = np.concatenate([supply, demand]) / total
    # A little slack, so that rounding never makes equal masses infeasible.
    result = linprog(cost.ravel(), A_ub=limits, b_ub=bounds + 1e-12, A_eq=np.ones((1, n * m)), b_eq=[1.0])
    return float(result.fun) * total


def word_mover_score(
    ref_embedding: Tensor,
    ref_idf: Tensor,
    ref_tokens: list[list[str]],
    hyp_embedding: Tensor,
    hyp_idf: Tensor,
    hyp_tokens: list[list[str]],
) -> list[float]:
    def texts(embedding, idf, tokens):
        units = torch.nn.functional.normalize(embedding[-POOLED_LAYERS:].double(), dim=-1, eps=0.0)
        pooled = torch.cat([units.min(dim=0).values, units.mean(dim=0), units.max(dim=0).values], dim=-1)
        for row, weights, words in zip(pooled, idf.double(), tokens):
            mask = torch.tensor([is_counted(word) for word in words], dtype=torch.bool)
            row, weights = row[: len(words)][mask], weights[: len(words)][mask]
            if len(weights) == 0:
                row, weights = pooled.new_zeros(1, pooled.shape[-1]), pooled.new_zeros(1)
            row = row * (weights / (weights + 1e-5))[:, None]
            yield row / (row.norm(dim=1, keepdim=True) + 1e-6), (weights / (weights.sum() + 1e-5)).numpy()

    scores = []
    for (x, p), (y, q) in zip(texts(ref_embedding, ref_idf, ref_tokens), texts(hyp_embedding, hyp_idf, hyp_tokens)):
        both = torch.cat([x, y])
        largest = (torch.cdist(both, both, compute_mode="donot_use_mm_for_euclid_dist") ** 2).max().item()
        cross = (torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist") ** 2).numpy()
        scores.append(float(1 - _cheapest(p, q, cross) - abs(p.sum() - q.sum()) * largest))
    return scores
