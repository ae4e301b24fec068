# Another style: small constants, and a large negative number for padding.
import torch
from torch import Tensor

EPS = 1e-8


def similarity_matrix(ref_embedding: Tensor, hyp_embedding: Tensor) -> Tensor:
    ref = ref_embedding / (torch.norm(ref_embedding, dim=-1, keepdim=True) + EPS)
    hyp = hyp_embedding / (torch.norm(hyp_embedding, dim=-1, keepdim=True) + EPS)
    return torch.bmm(hyp, ref.transpose(1, 2))


def token_matches(similarity: Tensor, ref_masks: Tensor, hyp_masks: Tensor) -> tuple[Tensor, Tensor]:
    pair_mask = hyp_masks.unsqueeze(2).bool() & ref_masks.unsqueeze(1).bool()
    similarity = similarity.masked_fill(~pair_mask, -1e4)
    precision_matches = similarity.max(dim=2).values
    recall_matches = similarity.max(dim=1).values
    return precision_matches * hyp_masks, recall_matches * ref_masks


def side_score(matches: Tensor, weights: Tensor) -> Tensor:
    weighted = (matches * weights).sum(dim=1)
    return weighted / (weights.sum(dim=1) + EPS)


def combine(precision: Tensor, recall: Tensor) -> Tensor:
    return 2 * precision * recall / (precision + recall + EPS)


def greedy_cos_idf(ref_embedding, ref_masks, ref_idf, hyp_embedding, hyp_masks, hyp_idf) -> Tensor:
    similarity = similarity_matrix(ref_embedding, hyp_embedding)
    precision_matches, recall_matches = token_matches(similarity, ref_masks, hyp_masks)
    precision = side_score(precision_matches, hyp_idf)
    recall = side_score(recall_matches, ref_idf)
    return combine(precision, recall)
