import torch


def info_nce_loss(self, features):
    n, v = self.args.batch_size, self.args.n_views
    z = features / features.norm(dim=1, keepdim=True)
    views = z.view(v, n, -1)
    logits = []
    for a in range(v):
        own = (views[a].unsqueeze(0) * views).sum(-1).t()
        positives = torch.cat([own[:, :a], own[:, a + 1 :]], dim=1)
        negatives = []
        for b in range(v):
            sim = views[a] @ views[b].t()
            off_diagonal = ~torch.eye(n, dtype=torch.bool)
            negatives.append(sim[off_diagonal].view(n, n - 1))
        logits.append(torch.cat([positives, *negatives], dim=1))
    logits = torch.cat(logits) / self.args.temperature
    labels = torch.zeros(logits.shape[0], dtype=torch.long, device=logits.device)
    return logits, labels
