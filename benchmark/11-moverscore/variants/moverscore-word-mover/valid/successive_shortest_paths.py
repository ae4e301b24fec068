import math

import torch
from preprocess import POOLED_LAYERS, is_counted
from torch import Tensor


def _flow_cost(supply: list[float], demand: list[float], cost: list[list[float]]) -> float:
    """Minimum-cost flow by successive shortest paths (Bellman-Ford on the residual network)."""
    n, m = len(supply), len(demand)
    supply, demand = list(supply), list(demand)
    flow = [[0.0] * m for _ in range(n)]
    paid, tiny = 0.0, 1e-15
    while max(supply) > tiny and max(demand) > tiny:
        distance = [0.0 if mass > tiny else math.inf for mass in supply] + [math.inf] * m
        parent: list[int | None] = [None] * (n + m)
        for _ in range(n + m):
            changed = False
            for i in range(n):
                for j in range(m):
                    if distance[i] + cost[i][j] < distance[n + j] - 1e-13:
                        distance[n + j], parent[n + j], changed = distance[i] + cost[i][j], i, True
                    if flow[i][j] > tiny and distance[n + j] - cost[i][j] < distance[i] - 1e-13:
                        distance[i], parent[i], changed = distance[n + j] - cost[i][j], n + j, True
            if not changed:
                break
        end = min((j for j in range(m) if demand[j] > tiny), key=lambda j: distance[n + j])
        path, node = [], n + end
        while parent[node] is not None:
            path.append((parent[node], node))
            node = parent[node]
        amount = min([supply[node], demand[end]] + [flow[b][a - n] for a, b in path if a >= n])
        for a, b in path:
            if a < n:
                flow[a][b - n] += amount
            else:
                flow[b][a - n] -= amount
        supply[node] -= amount
        demand[end] -= amount
        paid += amount * distance[n + end]
    return paid


def _text(layers: Tensor, idf: Tensor, tokens: list[str]) -> tuple[Tensor, list[float]]:
    """Final vectors and normalised masses of one text."""
    kept = [k for k, token in enumerate(tokens) if is_counted(token)]
    weights = [float(idf[k]) for k in kept] or [0.0]
    vectors = []
    for k, weight in zip(kept, weights):
        units = torch.stack([vector / torch.linalg.vector_norm(vector) for vector in layers[:, k].double()])
        pooled = torch.cat([units.min(dim=0).values, units.sum(dim=0) / len(units), units.max(dim=0).values])
        pooled = pooled * (weight / (weight + 1e-5))
        vectors.append(pooled / (torch.linalg.vector_norm(pooled) + 1e-6))
    if not vectors:
        vectors.append(torch.zeros(3 * layers.shape[-1], dtype=torch.float64))
    total = math.fsum(weights) + 1e-5
    return torch.stack(vectors), [weight / total for weight in weights]


def word_mover_score(
    ref_embedding: Tensor,
    ref_idf: Tensor,
    ref_tokens: list[list[str]],
    hyp_embedding: Tensor,
    hyp_idf: Tensor,
    hyp_tokens: list[list[str]],
) -> list[float]:
    scores = []
    for i in range(len(ref_tokens)):
        x, p = _text(ref_embedding[-POOLED_LAYERS:, i], ref_idf[i], ref_tokens[i])
        y, q = _text(hyp_embedding[-POOLED_LAYERS:, i], hyp_idf[i], hyp_tokens[i])
        everything = torch.cat([x, y])
        cost = ((everything.unsqueeze(0) - everything.unsqueeze(1)) ** 2).sum(dim=2)
        extra = abs(math.fsum(p) - math.fsum(q)) * cost.max().item()
        scores.append(1 - extra - _flow_cost(p, q, cost[: len(x), len(x) :].tolist()))
    return scores
