"""Rescaling: unrelated sentences score well above 0, which a baseline takes away."""

import random
from collections.abc import Sequence

from torch import Tensor

from bert_score.score import BERTScorer


def random_pair_baseline(
    scorer: BERTScorer, texts: Sequence[str], idf: bool = False, pairs: int = 300, seed: int = 0
) -> float:
    """b of the paper, the mean score of random pairs of different texts."""
    rng = random.Random(seed)
    cands, refs = zip(*(rng.sample(list(texts), 2) for _ in range(pairs)), strict=True)
    return scorer.score(cands, refs, idf=idf).mean().item()


def rescale(scores: Tensor, baseline: float) -> Tensor:
    """Rescale scores by a baseline; their order stays the same.

    Args:
        scores: (N,) raw scores.
        baseline: b of the paper, a score below 1.

    Returns:
        (N,).
    """
    return (scores - baseline) / (1 - baseline)
