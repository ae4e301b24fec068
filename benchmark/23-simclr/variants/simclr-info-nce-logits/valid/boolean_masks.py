import torch
import torch.nn.functional as F
from torch import Tensor


def info_nce_loss(self, features: Tensor) -> tuple[Tensor, Tensor]:
    images, views = self.args.batch_size, self.args.n_views
    rows = views * images
    if features.shape[0] != rows:
        raise ValueError(f"expected {rows} rows, got {features.shape[0]}")

    z = F.normalize(features.to(self.args.device), p=2, dim=-1)
    cosine = torch.matmul(z, z.transpose(0, 1))
    identity = torch.arange(images, device=cosine.device).repeat(views)
    same_image = identity[None, :] == identity[:, None]
    itself = torch.eye(rows, dtype=torch.bool, device=cosine.device)

    positives = cosine[same_image & ~itself].reshape(rows, views - 1)
    negatives = cosine[~same_image].reshape(rows, rows - views)
    logits = torch.cat([positives, negatives], dim=1).div(self.args.temperature)
    return logits, torch.zeros(rows, dtype=torch.long, device=cosine.device)
