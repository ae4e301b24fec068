"""The training objective of a hierarchy encoder: clustering and centripetal loss."""

from collections.abc import Iterable

import torch
from hierarchy_transformers.models.hit import HierarchyTransformer
from torch import Tensor, nn


def clustering_loss(child_to_parent: Tensor, child_to_negative: Tensor, margin: float) -> Tensor:
    """The clustering loss of a batch, a scalar.

    Args:
        child_to_parent, child_to_negative: (B,) distances d_c of each child to its parent and to its negative.
        margin: alpha of the paper.
    """
    return torch.relu(child_to_parent - child_to_negative + margin).mean()


def centripetal_loss(child_norm: Tensor, parent_norm: Tensor, margin: float) -> Tensor:
    """The centripetal loss of a batch, a scalar.

    Args:
        child_norm, parent_norm: (B,) norms in the ball.
        margin: beta of the paper.
    """
    return torch.relu(parent_norm - child_norm + margin).mean()


class HierarchyTransformerLoss(nn.Module):
    """Weighted sum of the clustering and the centripetal loss."""

    def __init__(
        self,
        model: HierarchyTransformer,
        clustering_loss_weight: float = 1.0,
        clustering_loss_margin: float = 5.0,
        centripetal_loss_weight: float = 1.0,
        centripetal_loss_margin: float = 0.5,
    ) -> None:
        """The margins are lengths in the ball; `model` gives the embeddings and the manifold that measures them."""
        super().__init__()
        self.model = model
        self.manifold = model.manifold
        self.cluster_weight = clustering_loss_weight
        self.cluster_loss_margin = clustering_loss_margin
        self.centri_weight = centripetal_loss_weight
        self.centri_loss_margin = centripetal_loss_margin

    def forward(self, sentence_features: Iterable[dict[str, Tensor]], labels: Tensor) -> dict[str, Tensor]:
        """Losses of a batch of triples.

        Args:
            sentence_features: the features of B children, of their B parents and of B negative parents, in this order:
                three dictionaries, each of which `model` takes.
            labels: not used; trainers of sentence encoders hand labels to every loss.

        Returns:
            loss: the weighted sum of the other two, to be minimised.
            cluster_loss: the clustering loss, not weighted.
            centri_loss: the centripetal loss, not weighted.
        """
        features = list(sentence_features)
        assert len(features) == 3, f"a triple has three parts (child, parent, negative), not {len(features)}"
        child, parent, negative = (self.model(part)["sentence_embedding"] for part in features)

        manifold = self.manifold
        cluster_loss = clustering_loss(
            manifold.dist(child, parent), manifold.dist(child, negative), self.cluster_loss_margin
        )
        centri_loss = centripetal_loss(manifold.dist0(child), manifold.dist0(parent), self.centri_loss_margin)
        loss = self.cluster_weight * cluster_loss + self.centri_weight * centri_loss
        return {"loss": loss, "cluster_loss": cluster_loss, "centri_loss": centri_loss}
