from collections.abc import Iterable

import torch.nn.functional as F
from torch import Tensor


def forward(self, sentence_features: Iterable[dict[str, Tensor]], labels: Tensor) -> dict[str, Tensor]:
    embeddings = [self.model(features)["sentence_embedding"] for features in sentence_features]
    assert len(embeddings) == 3, "sentence_features must be those of child, parent and negative"
    given = embeddings[0].dtype
    child, parent, negative = (part.double() for part in embeddings)

    to_parent, to_negative = self.manifold.dist(child, parent), self.manifold.dist(child, negative)
    cluster_loss = F.relu(to_parent - to_negative + self.cluster_loss_margin).mean()
    rise = self.manifold.dist0(parent) - self.manifold.dist0(child)
    centri_loss = F.relu(rise + self.centri_loss_margin).mean()
    loss = cluster_loss * self.cluster_weight + centri_loss * self.centri_weight
    return {"loss": loss.to(given), "cluster_loss": cluster_loss.to(given), "centri_loss": centri_loss.to(given)}
