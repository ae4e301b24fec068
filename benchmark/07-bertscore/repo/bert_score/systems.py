"""How well a metric judges systems: agreement on segments, hybrid systems, and the choice of the best system.

S systems have an output for each of N segments. Metric and humans give every output a number, higher for better ones.
"""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Selection:
    """How well a metric picks systems, on average over draws; each number as the paper defines it.

    Attributes:
        hits: Hits@1.
        reciprocal_rank: MRR.
        difference: Diff.
    """

    hits: float
    reciprocal_rank: float
    difference: float


def draw_hybrids(systems: int, segments: int, count: int, seed: int) -> Tensor:
    """For each of `count` hybrid systems and each segment, the index of a random system: int64 (count, segments)."""
    return torch.randint(systems, (count, segments), generator=torch.Generator().manual_seed(seed))


def draw_subsets(systems: int, size: int, count: int, seed: int) -> Tensor:
    """Random subsets of different systems: int64 (count, size) indices."""
    generator = torch.Generator().manual_seed(seed)
    return torch.stack([torch.randperm(systems, generator=generator)[:size] for _ in range(count)])


def segment_agreement(scores: Tensor, ratings: Tensor) -> float:
    """tau of the paper: agreement of a metric with humans on single segments.

    Args:
        scores: (S, N) scores by the metric. No two outputs for the same segment have equal scores.
        ratings: (S, N) ratings by humans; outputs for the same segment may be rated equally.
    """
    first, second = torch.triu_indices(len(scores), len(scores), offset=1)
    preferred = torch.sign(ratings[first] - ratings[second])
    found = torch.sign(scores[first] - scores[second])
    return float((preferred * found).sum() / (preferred != 0).sum())


def hybrid_scores(scores: Tensor, hybrids: Tensor) -> Tensor:
    """Numbers of hybrid systems as wholes, from those of single outputs.

    Args:
        scores: (S, N) scores by the metric, or ratings by humans.
        hybrids: int64 (H, N), for each hybrid system the index of the system that its output for a segment is from.

    Returns:
        (H,).
    """
    return scores.gather(0, hybrids).mean(1)


def select_systems(metric: Tensor, human: Tensor, subsets: Tensor) -> Selection:
    """Let the metric choose among the systems of each subset, and average over the subsets.

    Args:
        metric: (H,) scores of systems by the metric, no two of them equal.
        human: (H,) ratings of the same systems by humans, no two of them equal.
        subsets: int64 (R, n) indices of systems, those of one subset in each row.
    """
    hits, reciprocal_ranks, differences = [], [], []
    for subset in subsets:
        scores, ratings = metric[subset], human[subset]
        chosen, best = scores.argmax(), ratings.argmax()
        rank = 1 + (scores > scores[best]).sum()
        hits.append(float(chosen == best))
        reciprocal_ranks.append(1 / float(rank))
        differences.append(float(ratings[best] - ratings[chosen]))
    count = len(subsets)
    return Selection(sum(hits) / count, sum(reciprocal_ranks) / count, sum(differences) / count)
