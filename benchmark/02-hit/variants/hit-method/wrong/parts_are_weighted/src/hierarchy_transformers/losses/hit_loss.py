# Returns the parts with their weights.
class HierarchyTransformerLoss:
    def forward(self, sentence_features, labels):
        e, p, n = (self.model(f)["sentence_embedding"] for f in sentence_features)
        m = self.manifold
        cluster = self.cluster_weight * clustering_loss(m.dist(e, p), m.dist(e, n), self.cluster_loss_margin)
        centri = self.centri_weight * centripetal_loss(m.dist0(e), m.dist0(p), self.centri_loss_margin)
        return {"loss": cluster + centri, "cluster_loss": cluster, "centri_loss": centri}
