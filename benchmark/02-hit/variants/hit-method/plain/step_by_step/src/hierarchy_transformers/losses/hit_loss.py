# Each step in names of its own.
import torch
import torch.nn.functional as F


def clustering_loss(child_to_parent, child_to_negative, margin):
    violations = child_to_parent - child_to_negative + margin
    return torch.mean(F.relu(violations))


def centripetal_loss(child_norm, parent_norm, margin):
    violations = parent_norm - child_norm + margin
    return torch.mean(F.relu(violations))


class HierarchyTransformerLoss:
    def forward(self, sentence_features, labels):
        embeddings = []
        for features in sentence_features:
            embeddings.append(self.model(features)["sentence_embedding"])
        child, parent, negative = embeddings
        child_to_parent = self.manifold.dist(child, parent)
        child_to_negative = self.manifold.dist(child, negative)
        cluster_loss = clustering_loss(child_to_parent, child_to_negative, self.cluster_loss_margin)
        child_norm = self.manifold.dist0(child)
        parent_norm = self.manifold.dist0(parent)
        centri_loss = centripetal_loss(child_norm, parent_norm, self.centri_loss_margin)
        loss = self.cluster_weight * cluster_loss + self.centri_weight * centri_loss
        return {"loss": loss, "cluster_loss": cluster_loss, "centri_loss": centri_loss}
