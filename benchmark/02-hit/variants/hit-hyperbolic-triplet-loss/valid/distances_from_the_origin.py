from collections.abc import Iterable

import torch
from torch import Tensor


def forward(self, sentence_features: Iterable[dict[str, Tensor]], labels: Tensor) -> dict[str, Tensor]:
    parts = list(sentence_features)
    assert len(parts) == 3, "three parts are needed"
    child, parent, negative = [self.model(part)["sentence_embedding"] for part in parts]
    origin = torch.zeros_like(child)
    dist = self.manifold.dist

    nearness = dist(parent, child) - dist(negative, child)
    descent = dist(parent, origin) - dist(child, origin)
    size = child.shape[0]
    cluster_loss = (
        torch.where(nearness > -self.cluster_loss_margin, nearness + self.cluster_loss_margin, 0.0).sum() / size
    )
    centri_loss = torch.where(descent > -self.centri_loss_margin, descent + self.centri_loss_margin, 0.0).sum() / size
    weighted = {"cluster_loss": self.cluster_weight * cluster_loss, "centri_loss": self.centri_weight * centri_loss}
    return {"loss": sum(weighted.values()), "cluster_loss": cluster_loss, "centri_loss": centri_loss}
