from collections.abc import Iterable

import torch
import torch.nn.functional as F
from torch import Tensor


def forward(self, sentence_features: Iterable[dict[str, Tensor]], labels: Tensor) -> dict[str, Tensor]:
    try:
        child_features, parent_features, negative_features = sentence_features
    except ValueError as error:
        raise AssertionError("sentence_features must have three items") from error
    child = self.model(child_features)["sentence_embedding"]
    parent = self.model(parent_features)["sentence_embedding"]
    negative = self.model(negative_features)["sentence_embedding"]

    manifold, ones = self.manifold, torch.ones_like(child[:, 0])
    # Both losses ask one row of numbers to exceed another by a margin.
    cluster_loss = F.margin_ranking_loss(
        manifold.dist(child, negative), manifold.dist(child, parent), ones, margin=self.cluster_loss_margin
    )
    centri_loss = F.margin_ranking_loss(
        manifold.dist0(child), manifold.dist0(parent), ones, margin=self.centri_loss_margin
    )
    loss = torch.stack([self.cluster_weight * cluster_loss, self.centri_weight * centri_loss]).sum()
    return {"cluster_loss": cluster_loss, "centri_loss": centri_loss, "loss": loss}
