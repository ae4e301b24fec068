# Measures how far the negative is from the parent.
class HierarchyTransformerLoss:
    def forward(self, sentence_features, labels):
        e, p, n = (self.model(f)["sentence_embedding"] for f in sentence_features)
        m = self.manifold
        cluster = clustering_loss(m.dist(e, p), m.dist(p, n), self.cluster_loss_margin)
        centri = centripetal_loss(m.dist0(e), m.dist0(p), self.centri_loss_margin)
        loss = self.cluster_weight * cluster + self.centri_weight * centri
        return {"loss": loss, "cluster_loss": cluster, "centri_loss": centri}
