"""Seeding and the scores of binary decisions."""

import random
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Scores:
    """Precision, recall and F1 of the causal class, each between 0 and 1."""

    precision: float
    recall: float
    f1: float

    def __str__(self) -> str:
        return f"precision {self.precision:.3f}, recall {self.recall:.3f}, F1 {self.f1:.3f}"


def seed_everything(seed: int) -> None:
    """Seed Python's and PyTorch's generators."""
    random.seed(seed)
    torch.manual_seed(seed)


def score(predicted: Tensor, gold: Tensor) -> Scores:
    """Scores of predicted classes (P,) against gold classes (P,), class 0 being "no causal relation".

    A ratio without a denominator is 0.
    """
    hits = int(((predicted == gold) & (gold > 0)).sum())
    claimed, true = int((predicted > 0).sum()), int((gold > 0).sum())
    precision = hits / claimed if claimed else 0.0
    recall = hits / true if true else 0.0
    total = precision + recall
    return Scores(precision, recall, 2 * precision * recall / total if total else 0.0)
