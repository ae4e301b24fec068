from collections.abc import Iterable

from hierarchy_transformers.models.hyperbolic import PoincareBall
from torch import Tensor


def _clustering(manifold: PoincareBall, child: Tensor, parent: Tensor, negative: Tensor, margin: float) -> Tensor:
    """Mean hinge on how much nearer the negative is than the parent."""
    excess = manifold.dist(child, parent) + margin - manifold.dist(child, negative)
    return excess.relu().mean()


def _centripetal(manifold: PoincareBall, child: Tensor, parent: Tensor, margin: float) -> Tensor:
    """Mean hinge on how much further out the parent is than the child."""
    return (manifold.dist0(parent) + margin - manifold.dist0(child)).relu().mean()


def forward(self, sentence_features: Iterable[dict[str, Tensor]], labels: Tensor) -> dict[str, Tensor]:
    embeddings = []
    for features in list(sentence_features):
        embeddings.append(self.model(features)["sentence_embedding"])
    if len(embeddings) != 3:
        raise AssertionError("expected child, parent and negative")
    child, parent, negative = embeddings
    cluster_loss = _clustering(self.manifold, child, parent, negative, self.cluster_loss_margin)
    centri_loss = _centripetal(self.manifold, child, parent, self.centri_loss_margin)
    return {
        "loss": self.cluster_weight * cluster_loss + self.centri_weight * centri_loss,
        "cluster_loss": cluster_loss,
        "centri_loss": centri_loss,
    }
