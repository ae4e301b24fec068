# Leaves NaN where F1 is undefined.
import torch
from torch import Tensor


def greedy_cos_idf(
    ref_embedding: Tensor,
    ref_masks: Tensor,
    ref_idf: Tensor,
    hyp_embedding: Tensor,
    hyp_masks: Tensor,
    hyp_idf: Tensor,
) -> Tensor:
    hyp_units = hyp_embedding / hyp_embedding.norm(dim=-1, keepdim=True)
    ref_units = ref_embedding / ref_embedding.norm(dim=-1, keepdim=True)
    similarity = torch.bmm(hyp_units, ref_units.transpose(1, 2))
    mask = (hyp_masks.bool().unsqueeze(2) & ref_masks.bool().unsqueeze(1)).to(similarity)
    similarity = similarity * mask

    word_precision = similarity.max(dim=2).values
    word_recall = similarity.max(dim=1).values
    precision = (word_precision * hyp_idf / hyp_idf.sum(dim=1, keepdim=True)).sum(dim=1)
    recall = (word_recall * ref_idf / ref_idf.sum(dim=1, keepdim=True)).sum(dim=1)
    return 2 * precision * recall / (precision + recall)
