"""The score of BERTScore, from contextual embeddings and weights of the tokens."""

import torch
from torch import Tensor


def similarity_matrix(ref_embedding: Tensor, hyp_embedding: Tensor) -> Tensor:
    """How similar each candidate token is to each reference token: s of the paper.

    Args:
        ref_embedding: (B, K, d) token vectors of the references; none of them is zero.
        hyp_embedding: (B, J, d) token vectors of the candidates; none of them is zero.

    Returns:
        (B, J, K), in the dtype of the embeddings.
    """
    ref_units = ref_embedding / ref_embedding.square().sum(-1, keepdim=True).sqrt()
    hyp_units = hyp_embedding / hyp_embedding.square().sum(-1, keepdim=True).sqrt()
    return torch.einsum("bjd,bkd->bjk", hyp_units, ref_units)


def token_matches(similarity: Tensor, ref_masks: Tensor, hyp_masks: Tensor) -> tuple[Tensor, Tensor]:
    """How well each token of either text is matched by the other text. Padding takes no part.

    Args:
        similarity: (B, J, K) similarities; those of padding mean nothing.
        ref_masks: (B, K) 1 where the references have tokens, 0 on padding.
        hyp_masks: (B, J) 1 where the candidates have tokens, 0 on padding.

    Returns:
        Two tensors: for each candidate token, (B, J), and for each reference token, (B, K). Entries on padding mean
        nothing, but are finite.
    """
    similarity = torch.einsum("bjk,bj,bk->bjk", similarity, hyp_masks.to(similarity), ref_masks.to(similarity))
    return similarity.amax(2), similarity.amax(1)


def side_score(matches: Tensor, weights: Tensor) -> Tensor:
    """P or R of the paper, from the tokens of one side.

    Args:
        matches: (B, L) how well each token is matched.
        weights: (B, L) weights of these tokens, at least 0 and not normalised; 0 on padding.

    Returns:
        (B,).
    """
    return (matches * weights).sum(1) / weights.sum(1)


def combine(precision: Tensor, recall: Tensor) -> Tensor:
    """F of the paper, (B,), from P and R, (B,) each."""
    f1 = 2 * precision * recall / (precision + recall)
    return torch.where(f1.isnan(), 0.0, f1)


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
    similarity = similarity_matrix(ref_embedding, hyp_embedding)
    hyp_matches, ref_matches = token_matches(similarity, ref_masks, hyp_masks)
    precision = side_score(hyp_matches, hyp_idf)
    recall = side_score(ref_matches, ref_idf)
    return combine(precision, recall)
