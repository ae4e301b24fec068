# The batch is taken apart, and every text is cut to its real tokens.
import torch
from torch import Tensor


def similarity_matrix(ref_embedding: Tensor, hyp_embedding: Tensor) -> Tensor:
    products = hyp_embedding @ ref_embedding.transpose(1, 2)
    return products / hyp_embedding.norm(dim=2)[:, :, None] / ref_embedding.norm(dim=2)[:, None, :]


def token_matches(similarity: Tensor, ref_masks: Tensor, hyp_masks: Tensor) -> tuple[Tensor, Tensor]:
    hyp_best = similarity.new_zeros(hyp_masks.shape)
    ref_best = similarity.new_zeros(ref_masks.shape)
    for b, block in enumerate(similarity):
        rows, columns = hyp_masks[b].nonzero()[:, 0], ref_masks[b].nonzero()[:, 0]
        real = block[rows][:, columns]
        hyp_best[b, rows] = real.max(dim=1).values
        ref_best[b, columns] = real.max(dim=0).values
    return hyp_best, ref_best


def side_score(matches: Tensor, weights: Tensor) -> Tensor:
    shares = weights / weights.sum(dim=1, keepdim=True)
    return torch.einsum("bl,bl->b", matches, shares.to(matches))


def combine(precision: Tensor, recall: Tensor) -> Tensor:
    return 2 / (1 / precision + 1 / recall)


def greedy_cos_idf(ref_embedding, ref_masks, ref_idf, hyp_embedding, hyp_masks, hyp_idf) -> Tensor:
    scores = []
    for x, x_mask, v, y, y_mask, u in zip(ref_embedding, ref_masks, ref_idf, hyp_embedding, hyp_masks, hyp_idf):
        x, y, v, u = x[x_mask > 0], y[y_mask > 0], v[x_mask > 0], u[y_mask > 0]
        cosines = torch.nn.functional.cosine_similarity(y[:, None], x[None], dim=2)
        precision = (cosines.amax(dim=1) * u).sum() / u.sum()
        recall = (cosines.amax(dim=0) * v).sum() / v.sum()
        scores.append(combine(precision, recall))
    return torch.stack(scores)
