"""Candidates that have one or several references each."""

from collections.abc import Sequence

import torch
from torch import Tensor

from bert_score.score import BERTScorer


def score_references(
    scorer: BERTScorer, cands: Sequence[str], refs: Sequence[Sequence[str]], idf: bool = False
) -> Tensor:
    """Score of each candidate against all of its references together.

    Args:
        scorer: scores pairs of texts.
        cands: N candidate texts.
        refs: N sequences of at least one reference text; their lengths may differ.
        idf: use importance weights instead of equal ones. The references of all candidates together are those of the
            test set, each as often as it is given.

    Returns:
        (N,) scores, in the order of the candidates.
    """
    pairs = [(cand, ref) for cand, several in zip(cands, refs, strict=True) for ref in several]
    scores = scorer.score(*zip(*pairs, strict=True), idf=idf)
    parts = scores.split([len(several) for several in refs])
    return torch.stack([part.amax() for part in parts])
