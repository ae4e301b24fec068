from collections.abc import Iterable

import torch
from torch import Tensor


def forward(self, sentence_features: Iterable[dict[str, Tensor]], labels: Tensor) -> dict[str, Tensor]:
    batches = tuple(sentence_features)
    assert len(batches) == 3
    points = torch.stack([self.model(batch)["sentence_embedding"] for batch in batches])
    distances = self.manifold.dist(points[:1], points[1:])  # (2, B): child to parent, child to negative
    norms = self.manifold.dist0(points[:2])  # (2, B): child, parent
    violations = torch.stack(
        [distances[0] - distances[1] + self.cluster_loss_margin, norms[1] - norms[0] + self.centri_loss_margin]
    )
    cluster_loss, centri_loss = violations.clamp(min=0).mean(dim=1).unbind()
    loss = cluster_loss * self.cluster_weight + centri_loss * self.centri_weight
    return dict(loss=loss, cluster_loss=cluster_loss, centri_loss=centri_loss)
