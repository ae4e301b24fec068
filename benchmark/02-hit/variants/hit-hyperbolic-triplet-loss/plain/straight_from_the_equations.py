import torch
import torch.nn.functional as F


def forward(self, sentence_features, labels):
    reps = [self.model(f)["sentence_embedding"] for f in sentence_features]
    e, e_pos, e_neg = reps
    cluster = F.relu(self.manifold.dist(e, e_pos) - self.manifold.dist(e, e_neg) + self.cluster_loss_margin).mean()
    centri = F.relu(self.manifold.dist0(e_pos) - self.manifold.dist0(e) + self.centri_loss_margin).mean()
    loss = self.cluster_weight * cluster + self.centri_weight * centri
    return {"loss": loss, "cluster_loss": cluster.detach(), "centri_loss": centri.detach()}
