import torch


def forward(self, sentence_features, labels):
    anchor = self.model(sentence_features[0])["sentence_embedding"]
    positive = self.model(sentence_features[1])["sentence_embedding"]
    negative = self.model(sentence_features[2])["sentence_embedding"]

    cluster_loss = 0.0
    centri_loss = 0.0
    for a, p, n in zip(anchor, positive, negative):
        gap = self.manifold.dist(a, p) - self.manifold.dist(a, n) + self.cluster_loss_margin
        cluster_loss = cluster_loss + torch.clamp(gap, min=0)
        rise = self.manifold.dist0(p) - self.manifold.dist0(a) + self.centri_loss_margin
        centri_loss = centri_loss + torch.clamp(rise, min=0)
    cluster_loss = cluster_loss / len(anchor)
    centri_loss = centri_loss / len(anchor)
    return {
        "loss": self.cluster_weight * cluster_loss + self.centri_weight * centri_loss,
        "cluster_loss": cluster_loss,
        "centri_loss": centri_loss,
    }
