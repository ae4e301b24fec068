# Computes distances by the arcosh formula, whose slope is infinite where two embeddings coincide.
from collections.abc import Iterable

import torch
from hierarchy_transformers.models.hyperbolic import PoincareBall
from torch import Tensor


def _distance(manifold: PoincareBall, x: Tensor, y: Tensor) -> Tensor:
    """Hyperbolic distance from the Euclidean one and the conformal factors."""
    c = manifold.c
    room = (1 - c * x.square().sum(dim=-1)) * (1 - c * y.square().sum(dim=-1))
    return torch.acosh(1 + 2 * c * (x - y).square().sum(dim=-1) / room) / c**0.5


def forward(self, sentence_features: Iterable[dict[str, Tensor]], labels: Tensor) -> dict[str, Tensor]:
    features = list(sentence_features)
    assert len(features) == 3
    child, parent, negative = (self.model(part)["sentence_embedding"] for part in features)

    to_parent = _distance(self.manifold, child, parent)
    to_negative = _distance(self.manifold, child, negative)
    cluster_loss = torch.relu(to_parent - to_negative + self.cluster_loss_margin).mean()

    child_norm = self.manifold.dist0(child)
    parent_norm = self.manifold.dist0(parent)
    centri_loss = torch.relu(parent_norm - child_norm + self.centri_loss_margin).mean()

    loss = self.cluster_weight * cluster_loss + self.centri_weight * centri_loss
    return {"loss": loss, "cluster_loss": cluster_loss, "centri_loss": centri_loss}
