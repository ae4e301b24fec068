"""How well embeddings tell which entity is above which: a subsumption score, its calibration, and F1."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from hierarchy_transformers.datasets.build import LabelledPair
from hierarchy_transformers.models.hit import HierarchyTransformer
from torch import Tensor

#: Weights of the difference in norms that calibration tries; at 0 the score is a distance, which has no direction.
NORM_WEIGHTS = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0)


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


def subsumption_scores(model: HierarchyTransformer, pairs: Sequence[LabelledPair], norm_weight: float) -> Tensor:
    """Scores (N,) of N pairs: the higher, the more plausible it is that the second entity is above the first.

    Entities have to be close to each other, and the second one closer to the origin.
    """
    child = model.encode(pair.child for pair in pairs)
    parent = model.encode(pair.parent for pair in pairs)
    descent = model.manifold.dist0(child) - model.manifold.dist0(parent)
    return norm_weight * descent - model.manifold.dist(child, parent)


def calibrate(model: HierarchyTransformer, pairs: Sequence[LabelledPair]) -> PredictionRule:
    """The rule with the best F1 on `pairs`, over some norm weights and all thresholds."""
    holds = torch.tensor([pair.holds for pair in pairs])
    best_f1, best_rule = -1.0, PredictionRule(0.0, 0.0)
    for norm_weight in NORM_WEIGHTS:
        scores, order = subsumption_scores(model, pairs, norm_weight).sort(descending=True)
        hits = holds[order].cumsum(0)
        # With the k best pairs accepted, F1 is 2 * hits / (k + all positives).
        f1 = 2 * hits / (torch.arange(1, len(pairs) + 1) + hits[-1])
        if f1.max() > best_f1:
            best_f1, best_rule = f1.max().item(), PredictionRule(norm_weight, scores[f1.argmax()].item())
    return best_rule


def evaluate(model: HierarchyTransformer, pairs: Sequence[LabelledPair], rule: PredictionRule) -> Quality:
    """Precision, recall and F1 of a rule on labelled pairs."""
    holds = torch.tensor([pair.holds for pair in pairs])
    accepted = subsumption_scores(model, pairs, rule.norm_weight) >= rule.threshold
    hits = (accepted & holds).sum().item()
    precision = hits / max(1, accepted.sum().item())
    recall = hits / max(1, holds.sum().item())
    return Quality(precision, recall, 2 * precision * recall / max(1e-12, precision + recall))
