"""Linear rescaling: unrelated sentences score well above 0, which a baseline takes away."""

import random
from collections.abc import Sequence

from torch import Tensor

from bert_score.score import BERTScorer


def random_pair_baseline(
    scorer: BERTScorer, texts: Sequence[str], idf: bool = False, pairs: int = 300, seed: int = 0
) -> float:
    """Mean score of random pairs of different texts: what two sentences get that have nothing to do with each other."""
    rng = random.Random(seed)
    cands, refs = zip(*(rng.sample(list(texts), 2) for _ in range(pairs)), strict=True)
    return scorer.score(cands, refs, idf=idf).mean().item()


def rescale(scores: Tensor, baseline: float) -> Tensor:
    """Map `baseline` to 0 and leave 1 at 1; the order of scores stays the same.

    Args:
        scores: (N,) raw scores.
        baseline: a score below 1.

    Returns:
        (N,) rescaled scores, below 0 for pairs that are worse than a random one.
    """
    return (scores - baseline) / (1 - baseline)
