import torch
from emd import emd
from preprocess import POOLED_LAYERS, is_counted
from torch import Tensor


def word_mover_score(
    ref_embedding: Tensor,
    ref_idf: Tensor,
    ref_tokens: list[list[str]],
    hyp_embedding: Tensor,
    hyp_idf: Tensor,
    hyp_tokens: list[list[str]],
) -> list[float]:
    sides = []
    for embedding, idf, tokens in ((ref_embedding, ref_idf, ref_tokens), (hyp_embedding, hyp_idf, hyp_tokens)):
        top = embedding.double()[-POOLED_LAYERS:]
        top = top / top.norm(dim=-1, keepdim=True)
        pooled = torch.stack([top.amin(dim=0), top.mean(dim=0), top.amax(dim=0)], dim=-2).flatten(-2)
        sides.append([(pooled[i], idf[i].double(), row) for i, row in enumerate(tokens)])

    scores = []
    for pair in zip(*sides):
        rows, histograms = [], []
        for vectors, weights, tokens in pair:
            kept = [k for k, token in enumerate(tokens) if is_counted(token)]
            masses = weights[kept] if kept else torch.zeros(1, dtype=torch.float64)
            scaled = vectors[kept] if kept else torch.zeros(1, vectors.shape[1], dtype=torch.float64)
            scaled = scaled * masses[:, None] / (masses[:, None] + 1e-5)
            rows.append(scaled / (scaled.norm(dim=1, keepdim=True) + 1e-6))
            histograms.append(masses / (masses.sum() + 1e-5))
        stacked = torch.cat(rows)
        gram = stacked @ stacked.T
        cost = (gram.diag()[:, None] + gram.diag() - 2 * gram).clamp(min=0)
        zeros = [torch.zeros_like(histogram) for histogram in histograms]
        p, q = torch.cat([histograms[0], zeros[1]]), torch.cat([zeros[0], histograms[1]])
        scores.append(1 - emd(p.numpy(), q.numpy(), cost.numpy()))
    return scores
