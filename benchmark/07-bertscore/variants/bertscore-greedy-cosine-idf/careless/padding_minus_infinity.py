# Keeps padding out of the maxima by filling it with minus infinity, instead of zero.
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
    similarity = similarity.masked_fill(mask == 0, -torch.inf)

    word_precision = similarity.max(dim=2).values.masked_fill(~hyp_masks.bool(), 0.0)
    word_recall = similarity.max(dim=1).values.masked_fill(~ref_masks.bool(), 0.0)
    precision = (word_precision * hyp_idf / hyp_idf.sum(dim=1, keepdim=True)).sum(dim=1)
    recall = (word_recall * ref_idf / ref_idf.sum(dim=1, keepdim=True)).sum(dim=1)
    f1 = 2 * precision * recall / (precision + recall)
    return f1.masked_fill(f1.isnan(), 0.0)
