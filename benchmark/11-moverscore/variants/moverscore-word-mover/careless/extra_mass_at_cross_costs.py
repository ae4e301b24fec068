# Charges extra mass at the largest cost between the two texts.
import torch
from emd import emd
from preprocess import POOLED_LAYERS, is_counted
from torch import Tensor


def _between(cost: Tensor, n: int) -> Tensor:
    """Costs within one text, which no flow uses, set to 0."""
    between = torch.zeros_like(cost)
    between[:n, n:] = cost[:n, n:]
    return between


def word_mover_score(
    ref_embedding: Tensor,
    ref_idf: Tensor,
    ref_tokens: list[list[str]],
    hyp_embedding: Tensor,
    hyp_idf: Tensor,
    hyp_tokens: list[list[str]],
) -> list[float]:
    def pool(embedding):
        layers = embedding[-POOLED_LAYERS:]
        layers = layers / layers.norm(dim=-1, keepdim=True)
        return torch.cat([layers.amin(dim=0), layers.mean(dim=0), layers.amax(dim=0)], dim=-1)

    def text(pooled, idf, tokens):
        kept = [k for k, token in enumerate(tokens) if is_counted(token)]
        if not kept:
            return pooled.new_zeros(1, pooled.shape[-1]), idf.new_zeros(1)
        masses = idf[kept]
        return pooled[kept] * (masses / (masses + 1e-5)).unsqueeze(1), masses

    ref_pooled, hyp_pooled = pool(ref_embedding), pool(hyp_embedding)
    scores = []
    for i in range(len(ref_tokens)):
        ref_vectors, ref_masses = text(ref_pooled[i], ref_idf[i], ref_tokens[i])
        hyp_vectors, hyp_masses = text(hyp_pooled[i], hyp_idf[i], hyp_tokens[i])
        vectors = torch.cat([ref_vectors, hyp_vectors])
        vectors = vectors / (vectors.norm(dim=-1, keepdim=True) + 1e-6)
        cost = (vectors[:, None] - vectors[None, :]).pow(2).sum(dim=-1)
        n = len(ref_vectors)
        p, q = torch.zeros(len(vectors), dtype=torch.float64), torch.zeros(len(vectors), dtype=torch.float64)
        p[:n] = ref_masses
        q[n:] = hyp_masses
        p, q = p / (p.sum() + 1e-5), q / (q.sum() + 1e-5)
        scores.append(1.0 - emd(p, q, _between(cost, n)))
    return scores
