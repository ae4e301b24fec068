# Projects the embeddings into the ball before measuring.
from collections.abc import Iterable

import torch
from hierarchy_transformers.models.hyperbolic import PoincareBall
from torch import Tensor


def _project(points: Tensor, manifold: PoincareBall) -> Tensor:
    """Scale points beyond the boundary back to just inside it."""
    norms = torch.linalg.vector_norm(points, dim=-1, keepdim=True)
    limit = (1 - 1e-3) * manifold.radius
    return torch.where(norms > limit, points / norms.clamp(min=1e-12) * limit, points)


def forward(self, sentence_features: Iterable[dict[str, Tensor]], labels: Tensor) -> dict[str, Tensor]:
    features = list(sentence_features)
    assert len(features) == 3
    child, parent, negative = (_project(self.model(part)["sentence_embedding"], self.manifold) for part in features)

    to_parent = self.manifold.dist(child, parent)
    to_negative = self.manifold.dist(child, negative)
    cluster_loss = torch.relu(to_parent - to_negative + self.cluster_loss_margin).mean()

    child_norm = self.manifold.dist0(child)
    parent_norm = self.manifold.dist0(parent)
    centri_loss = torch.relu(parent_norm - child_norm + self.centri_loss_margin).mean()

    loss = self.cluster_weight * cluster_loss + self.centri_weight * centri_loss
    return {"loss": loss, "cluster_loss": cluster_loss, "centri_loss": centri_loss}
