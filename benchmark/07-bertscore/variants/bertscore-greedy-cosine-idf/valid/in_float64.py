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
    ref, hyp = (vectors.double() for vectors in (ref_embedding, hyp_embedding))
    norms = hyp.norm(dim=-1).unsqueeze(2) * ref.norm(dim=-1).unsqueeze(1)
    similarity = torch.einsum("bjd,bkd->bjk", hyp, ref) / norms
    similarity = similarity * (hyp_masks.double().unsqueeze(2) * ref_masks.double().unsqueeze(1))
    weighted_precision = (similarity.amax(dim=2) * hyp_idf.double()).sum(dim=1)
    weighted_recall = (similarity.amax(dim=1) * ref_idf.double()).sum(dim=1)
    precision = weighted_precision / hyp_idf.double().sum(dim=1)
    recall = weighted_recall / ref_idf.double().sum(dim=1)
    f1 = 2 * precision * recall / (precision + recall)
    return torch.where(torch.isnan(f1), torch.zeros_like(f1), f1).to(ref_embedding.dtype)
