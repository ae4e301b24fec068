import torch
from torch import Tensor


def _average_match(similarity: Tensor, real: Tensor, other_padded: bool, weights: Tensor) -> Tensor:
    """Weighted mean of the best matches of one side's real tokens, the rows of `similarity`; padding matches 0."""
    matches = torch.zeros(len(real), dtype=similarity.dtype)
    if similarity.shape[1] > 0:
        best = similarity.max(dim=1).values
        # A padded position of the other side would have had similarity 0; NaN stays NaN.
        matches[real] = best.clamp(min=0.0) if other_padded else best
    return (matches * weights).sum() / weights.sum()


def greedy_cos_idf(
    ref_embedding: Tensor,
    ref_masks: Tensor,
    ref_idf: Tensor,
    hyp_embedding: Tensor,
    hyp_masks: Tensor,
    hyp_idf: Tensor,
) -> Tensor:
    scores = torch.zeros(len(ref_embedding), dtype=ref_embedding.dtype)
    for i in range(len(scores)):
        ref_real, hyp_real = ref_masks[i].bool(), hyp_masks[i].bool()
        ref, hyp = ref_embedding[i][ref_real], hyp_embedding[i][hyp_real]
        similarity = (hyp / hyp.norm(dim=1, keepdim=True)) @ (ref / ref.norm(dim=1, keepdim=True)).T
        precision = _average_match(similarity, hyp_real, not bool(ref_real.all()), hyp_idf[i])
        recall = _average_match(similarity.T, ref_real, not bool(hyp_real.all()), ref_idf[i])
        f1 = 2 * precision * recall / (precision + recall)
        scores[i] = 0.0 if torch.isnan(f1) else f1
    return scores
