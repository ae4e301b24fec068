import torch
import torch.nn.functional as F


def info_nce_loss(self, features):
    n, v = self.args.batch_size, self.args.n_views
    z = F.normalize(features + 1e-8)
    sim = torch.matmul(z, z.t()) / self.args.temperature
    total = n * v
    logits = torch.zeros(total, total - 1, device=features.device)
    for i in range(total):
        order = sorted(j for j in range(total) if j % n == i % n and j != i)
        order += [(i + k) % total for k in range(1, total) if k % n != 0]
        logits[i] = sim[i, order]
    labels = torch.zeros(total, dtype=torch.long, device=features.device)
    return logits, labels
