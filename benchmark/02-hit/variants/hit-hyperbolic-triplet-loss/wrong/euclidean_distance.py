# Measures the clustering loss with Euclidean distances.
from collections.abc import Iterable

import torch
from torch import Tensor


def forward(self, sentence_features: Iterable[dict[str, Tensor]], labels: Tensor) -> dict[str, Tensor]:
    features = list(sentence_features)
    assert len(features) == 3
    child, parent, negative = (self.model(part)["sentence_embedding"] for part in features)

    to_parent = torch.linalg.vector_norm(child - parent, dim=-1)
    to_negative = torch.linalg.vector_norm(child - negative, dim=-1)
    cluster_loss = torch.relu(to_parent - to_negative + self.cluster_loss_margin).mean()

    child_norm = self.manifold.dist0(child)
    parent_norm = self.manifold.dist0(parent)
    centri_loss = torch.relu(parent_norm - child_norm + self.centri_loss_margin).mean()

    loss = self.cluster_weight * cluster_loss + self.centri_weight * centri_loss
    return {"loss": loss, "cluster_loss": cluster_loss, "centri_loss": centri_loss}
