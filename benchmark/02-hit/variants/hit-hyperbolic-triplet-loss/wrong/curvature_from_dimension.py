# Builds the ball from the dimension of the embeddings, whatever the manifold of the loss is.
from collections.abc import Iterable

import torch
from hierarchy_transformers.models.hyperbolic import poincare_ball
from torch import Tensor


def forward(self, sentence_features: Iterable[dict[str, Tensor]], labels: Tensor) -> dict[str, Tensor]:
    features = list(sentence_features)
    assert len(features) == 3
    child, parent, negative = (self.model(part)["sentence_embedding"] for part in features)
    manifold = poincare_ball(child.size(-1))

    to_parent = manifold.dist(child, parent)
    to_negative = manifold.dist(child, negative)
    cluster_loss = torch.relu(to_parent - to_negative + self.cluster_loss_margin).mean()

    child_norm = manifold.dist0(child)
    parent_norm = manifold.dist0(parent)
    centri_loss = torch.relu(parent_norm - child_norm + self.centri_loss_margin).mean()

    loss = self.cluster_weight * cluster_loss + self.centri_weight * centri_loss
    return {"loss": loss, "cluster_loss": cluster_loss, "centri_loss": centri_loss}
