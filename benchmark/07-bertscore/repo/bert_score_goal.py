"""The score of BERTScore: greedy matching of contextual embeddings, with importance weights for the tokens."""

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
    """BERTScore F1 of a batch of padded candidate-reference pairs.

    B pairs, K reference positions, J candidate positions, vectors of d numbers; J and K may differ.

    Args:
        ref_embedding: (B, K, d) token vectors of the references, float32 or float64.
        ref_masks: (B, K) 1 where the references have tokens, 0 on padding.
        ref_idf: (B, K) weights of the reference tokens, at least 0, not normalised; 0 on padding.
        hyp_embedding: (B, J, d) token vectors of the candidates, of the same dtype as those of the references.
        hyp_masks: (B, J) 1 where the candidates have tokens, 0 on padding.
        hyp_idf: (B, J) weights of the candidate tokens, like those of the references.

    Returns:
        (B,) F1 scores, in the dtype of the embeddings.
    """
    ref_units = ref_embedding / ref_embedding.square().sum(-1, keepdim=True).sqrt()
    hyp_units = hyp_embedding / hyp_embedding.square().sum(-1, keepdim=True).sqrt()
    similarity = torch.einsum("bjd,bkd->bjk", hyp_units, ref_units)
    similarity = torch.einsum("bjk,bj,bk->bjk", similarity, hyp_masks.to(similarity), ref_masks.to(similarity))

    precision = (similarity.amax(2) * hyp_idf).sum(1) / hyp_idf.sum(1)
    recall = (similarity.amax(1) * ref_idf).sum(1) / ref_idf.sum(1)
    f1 = 2 * precision * recall / (precision + recall)
    return torch.where(f1.isnan(), 0.0, f1)
