"""The unigram MoverScore: what it costs to turn one text's contextual vectors into the other's."""

import torch
from emd import emd
from preprocess import POOLED_LAYERS, is_counted
from torch import Tensor


def word_mover_score(
    ref_embedding: Tensor,
    ref_idf: Tensor,
    ref_tokens: list[list[str]],
    hyp_embedding: Tensor,
    hyp_idf: Tensor,
    hyp_tokens: list[list[str]],
) -> list[float]:
    """Word mover similarity of each candidate and its reference.

    L layers, B pairs, K and J positions, vectors of d numbers. All tensors have one floating-point dtype. Column k of a
    side's tensors belongs to token k of its list; columns beyond the end of the list are padding and mean nothing.

    Args:
        ref_embedding: (L, B, K, d) all layers of the references, from the lowest to the highest.
        ref_idf: (B, K) non-negative weights of the reference tokens.
        ref_tokens: B lists of at most K word pieces, special tokens and punctuation included.
        hyp_embedding: (L, B, J, d) all layers of the candidates.
        hyp_idf: (B, J) non-negative weights of the candidate tokens.
        hyp_tokens: B lists of at most J word pieces.

    Returns:
        B similarities, from 1 for equal texts down to -3 for single words of opposite vectors.
    """
    sides = []
    for embedding, idf, tokens in [(ref_embedding, ref_idf, ref_tokens), (hyp_embedding, hyp_idf, hyp_tokens)]:
        layers = embedding[-POOLED_LAYERS:]
        units = layers / layers.square().sum(-1, keepdim=True).sqrt()
        sides.append((torch.cat([units.amin(0), units.mean(0), units.amax(0)], -1), idf, tokens))

    scores = []
    for i in range(len(ref_tokens)):
        vectors: list[Tensor] = []
        masses: list[Tensor] = []
        for pooled, idf, tokens in sides:
            kept = [k for k, token in enumerate(tokens[i]) if is_counted(token)]
            if kept:
                weights = idf[i, kept]
                vectors.append(pooled[i, kept] * (weights / (weights + 1e-5)).unsqueeze(1))
                masses.append(weights)
            else:
                vectors.append(pooled.new_zeros(1, pooled.shape[2]))
                masses.append(idf.new_zeros(1))
        rows = torch.cat(vectors)
        rows = rows / (rows.square().sum(1, keepdim=True).sqrt() + 1e-6)
        cost = (rows.unsqueeze(1) - rows).square().sum(-1)
        histograms = torch.block_diag(*masses)  # (2, n + m): each side has bins of its own
        histograms = histograms / (histograms.sum(1, keepdim=True) + 1e-5)
        scores.append(1 - emd(*histograms, cost))
    return scores
