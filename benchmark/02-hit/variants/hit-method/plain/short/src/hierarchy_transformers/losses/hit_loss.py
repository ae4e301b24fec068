# As short as it goes.
import torch


def clustering_loss(child_to_parent, child_to_negative, margin):
    return torch.relu(child_to_parent - child_to_negative + margin).mean()


def centripetal_loss(child_norm, parent_norm, margin):
    return torch.relu(parent_norm - child_norm + margin).mean()


class HierarchyTransformerLoss:
    def forward(self, sentence_features, labels):
        e, p, n = (self.model(f)["sentence_embedding"] for f in sentence_features)
        m = self.manifold
        cluster = clustering_loss(m.dist(e, p), m.dist(e, n), self.cluster_loss_margin)
        centri = centripetal_loss(m.dist0(e), m.dist0(p), self.centri_loss_margin)
        return {
            "loss": self.cluster_weight * cluster + self.centri_weight * centri,
            "cluster_loss": cluster,
            "centri_loss": centri,
        }
