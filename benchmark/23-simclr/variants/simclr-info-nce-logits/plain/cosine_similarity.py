import torch
import torch.nn.functional as F


def info_nce_loss(self, features):
    n, v = self.args.batch_size, self.args.n_views
    sim = F.cosine_similarity(features[:, None], features[None], dim=2) / self.args.temperature
    rows = []
    for i in range(n * v):
        positives = [sim[i, j] for j in range(i % n, n * v, n) if j != i]
        negatives = [sim[i, j] for j in range(n * v) if j % n != i % n]
        rows.append(torch.stack(positives + negatives))
    return torch.stack(rows), torch.zeros(n * v, dtype=torch.long)
