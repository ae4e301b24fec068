# Turns the masks into lengths, as if all real tokens came first.
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
    hyp_lengths, ref_lengths = hyp_masks.sum(dim=1), ref_masks.sum(dim=1)
    hyp_real = torch.arange(hyp_masks.shape[1]) < hyp_lengths.unsqueeze(1)
    ref_real = torch.arange(ref_masks.shape[1]) < ref_lengths.unsqueeze(1)
    mask = (hyp_real.unsqueeze(2) & ref_real.unsqueeze(1)).to(similarity)
    similarity = similarity * mask

    word_precision = similarity.max(dim=2).values
    word_recall = similarity.max(dim=1).values
    precision = (word_precision * hyp_idf / hyp_idf.sum(dim=1, keepdim=True)).sum(dim=1)
    recall = (word_recall * ref_idf / ref_idf.sum(dim=1, keepdim=True)).sum(dim=1)
    f1 = 2 * precision * recall / (precision + recall)
    return f1.masked_fill(f1.isnan(), 0.0)
