# NumPy and sorting inside, tensors at the edges.
import numpy as np
import torch
from torch import Tensor


def similarity_matrix(ref_embedding: Tensor, hyp_embedding: Tensor) -> Tensor:
    x, y = (torch.nn.functional.normalize(part, dim=-1, eps=0) for part in (ref_embedding, hyp_embedding))
    return torch.bmm(y, x.mT)


def token_matches(similarity: Tensor, ref_masks: Tensor, hyp_masks: Tensor) -> tuple[Tensor, Tensor]:
    allowed = hyp_masks.bool()[:, :, None] & ref_masks.bool()[:, None, :]
    values = np.where(allowed.numpy(), similarity.numpy(), -2.0)
    return tuple(torch.from_numpy(np.sort(values, axis=axis).take(-1, axis=axis)).to(similarity) for axis in (2, 1))


def side_score(matches: Tensor, weights: Tensor) -> Tensor:
    return torch.stack([(weight / weight.sum()) @ row.to(weight) for row, weight in zip(matches, weights)]).to(matches)


def combine(precision: Tensor, recall: Tensor) -> Tensor:
    return precision * recall / torch.stack([precision, recall]).mean(dim=0)


def greedy_cos_idf(ref_embedding, ref_masks, ref_idf, hyp_embedding, hyp_masks, hyp_idf) -> Tensor:
    for_hyp, for_ref = token_matches(similarity_matrix(ref_embedding, hyp_embedding), ref_masks, hyp_masks)
    return combine(side_score(for_hyp, hyp_idf), side_score(for_ref, ref_idf))
