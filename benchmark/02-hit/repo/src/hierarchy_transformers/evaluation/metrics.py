"""How well embeddings tell which entity is above which: a subsumption score, its calibration, and F1."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from hierarchy_transformers.datasets.build import LabelledPair
from hierarchy_transformers.models.hit import HierarchyTransformer
from hierarchy_transformers.models.hyperbolic import PoincareBall
from torch import Tensor

#: Values of lambda that calibration tries.
NORM_WEIGHTS = (0.25, 0.5, 1.0, 2.0, 4.0)


@dataclass(frozen=True)
class PredictionRule:
    """An entity is taken to be above another if their subsumption score reaches the threshold."""

    norm_weight: float
    threshold: float


@dataclass(frozen=True)
class Quality:
    """Precision, recall and their harmonic mean."""

    precision: float
    recall: float
    f1: float


def subsumption_score(manifold: PoincareBall, child: Tensor, parent: Tensor, norm_weight: float) -> Tensor:
    """The score s of the paper: the higher, the more plausible it is that one entity is above another.

    Args:
        manifold: the ball that the points lie in.
        child, parent: (N, d) points of e_1 and e_2, of which the second may be above the first.
        norm_weight: lambda of the paper.

    Returns:
        (N,).
    """
    descent = manifold.dist0(child) - manifold.dist0(parent)
    return norm_weight * descent - manifold.dist(child, parent)


def subsumption_scores(model: HierarchyTransformer, pairs: Sequence[LabelledPair], norm_weight: float) -> Tensor:
    """Scores (N,) of N pairs of names, without gradients."""
    child = model.encode(pair.child for pair in pairs)
    parent = model.encode(pair.parent for pair in pairs)
    return subsumption_score(model.manifold, child, parent, norm_weight)


def calibrate(model: HierarchyTransformer, pairs: Sequence[LabelledPair]) -> tuple[PredictionRule, float]:
    """The rule that the paper chooses on labelled pairs, and its F1 on these pairs.

    Args:
        model: the encoder.
        pairs: at least one of them holds. For one value of lambda, no two pairs have the same score.
    """
    holds = torch.tensor([pair.holds for pair in pairs])
    best_f1, best_rule = -1.0, PredictionRule(0.0, 0.0)
    for norm_weight in NORM_WEIGHTS:
        scores, order = subsumption_scores(model, pairs, norm_weight).sort(descending=True)
        hits = holds[order].cumsum(0)
        # With the k best pairs accepted, F1 is 2 * hits / (k + all positives).
        f1 = 2 * hits / (torch.arange(1, len(pairs) + 1) + hits[-1])
        if f1.max() > best_f1:
            best_f1, best_rule = f1.max().item(), PredictionRule(norm_weight, scores[f1.argmax()].item())
    return best_rule, best_f1


def evaluate(model: HierarchyTransformer, pairs: Sequence[LabelledPair], rule: PredictionRule) -> Quality:
    """Precision, recall and F1 of a rule on labelled pairs."""
    holds = torch.tensor([pair.holds for pair in pairs])
    accepted = subsumption_scores(model, pairs, rule.norm_weight) >= rule.threshold
    hits = (accepted & holds).sum().item()
    precision = hits / max(1, accepted.sum().item())
    recall = hits / max(1, holds.sum().item())
    return Quality(precision, recall, 2 * precision * recall / max(1e-12, precision + recall))
