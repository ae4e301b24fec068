import torch
import torch.nn.functional as F
from torch import Tensor


def greedy_cos_idf(
    ref_embedding: Tensor,
    ref_masks: Tensor,
    ref_idf: Tensor,
    hyp_embedding: Tensor,
    hyp_masks: Tensor,
    hyp_idf: Tensor,
) -> Tensor:
    reference = F.normalize(ref_embedding, dim=-1, eps=0.0)
    candidate = F.normalize(hyp_embedding, dim=-1, eps=0.0)
    padding = ~(ref_masks.bool().unsqueeze(2) & hyp_masks.bool().unsqueeze(1))
    cosines = torch.matmul(reference, candidate.mT).masked_fill(padding, 0.0)  # (B, K, J)

    recall = torch.einsum("bk,bk->b", F.normalize(ref_idf, p=1, dim=1, eps=0.0).to(cosines), cosines.max(dim=2)[0])
    precision = torch.einsum("bj,bj->b", F.normalize(hyp_idf, p=1, dim=1, eps=0.0).to(cosines), cosines.max(dim=1)[0])
    scores = precision.mul(recall).mul(2).div(precision.add(recall))
    scores[scores != scores] = 0
    return scores
