"""Losses that the paper compares. They read the scores of views against the other views of their batch.

`SimCLR.info_nce_loss` makes the scores: one row for each view of the batch, one column for each candidate. The column
that `labels` names holds the row's positive; each other column holds a negative.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

#: Names of the losses; "-sh" stands for semi-hard negatives.
LOSSES = ("nt-xent", "margin-triplet", "margin-triplet-sh")


def is_positive(scores: Tensor, labels: Tensor) -> Tensor:
    """(R, C) bool, true once in each row: in the column that `labels` names."""
    return labels.unsqueeze(1) == torch.arange(scores.size(1), device=scores.device)


def nt_xent(logits: Tensor, labels: Tensor) -> Tensor:
    """The NT-Xent loss of a batch, a scalar.

    Args:
        logits: (R, C) scores as `SimCLR.info_nce_loss` makes them.
        labels: (R,) int64, columns of the positives.
    """
    return F.cross_entropy(logits, labels)


def semi_hard(similarities: Tensor, labels: Tensor, margin: float) -> Tensor:
    """The semi-hard negatives of each row.

    Args:
        similarities: (R, C), without the temperature; no two of a row are equal.
        labels: (R,) int64, columns of the positives.
        margin: m of the paper.

    Returns:
        (R, C) bool, false at the positives. A row may have no semi-hard negative.
    """
    positive = similarities.gather(1, labels.unsqueeze(1))
    band = (similarities < positive) & (similarities > positive - margin)
    closest = similarities.masked_fill(~band, -torch.inf).amax(dim=1, keepdim=True)
    return band & (similarities == closest)


def margin_triplet(similarities: Tensor, labels: Tensor, used: Tensor, margin: float) -> Tensor:
    """The margin triplet loss of a batch, a scalar.

    Args:
        similarities: (R, C), without the temperature.
        labels: (R,) int64, columns of the positives.
        used: (R, C) bool, the negatives that take part; false at the positives. A row may have none.
        margin: m of the paper.
    """
    positive = similarities.gather(1, labels.unsqueeze(1))
    terms = (similarities - positive + margin).clamp(min=0) * used
    return (terms.sum(dim=1) / used.sum(dim=1).clamp(min=1)).mean()


class ContrastiveLoss(nn.Module):
    """One of the losses, by its name in `LOSSES`; a scalar from logits (R, C) and labels (R,)."""

    def __init__(self, name: str, temperature: float, margin: float) -> None:
        super().__init__()
        if name not in LOSSES:
            raise ValueError(f"unknown loss {name!r}; choose one of {', '.join(LOSSES)}")
        self.name = name
        self.temperature = temperature
        self.margin = margin

    def forward(self, logits: Tensor, labels: Tensor) -> Tensor:
        if self.name == "nt-xent":
            return nt_xent(logits, labels)
        similarities = logits * self.temperature
        used = ~is_positive(logits, labels)
        if self.name == "margin-triplet-sh":
            used = semi_hard(similarities.detach(), labels, self.margin)
        return margin_triplet(similarities, labels, used, self.margin)
