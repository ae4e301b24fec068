# Distances of both kinds in one call, and the losses inlined.
class HierarchyTransformerLoss:
    def forward(self, sentence_features, labels):
        child, parent, negative = [self.model(part)["sentence_embedding"] for part in sentence_features]
        near, far = self.manifold.dist(child, torch.stack([parent, negative]))
        inner, outer = self.manifold.dist0(torch.stack([parent, child]))
        cluster = (near - far + self.cluster_loss_margin).clamp(min=0).mean()
        centri = (inner - outer + self.centri_loss_margin).clamp(min=0).mean()
        total = self.cluster_weight * cluster + self.centri_weight * centri
        return {"loss": total, "cluster_loss": cluster, "centri_loss": centri}
