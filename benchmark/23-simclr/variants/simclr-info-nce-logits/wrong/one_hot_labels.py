# Returns each label as a one-hot row, which the cross-entropy takes for probabilities.
import torch
import torch.nn.functional as F
from torch import Tensor


def info_nce_loss(self, features: Tensor) -> tuple[Tensor, Tensor]:
    images, views = self.args.batch_size, self.args.n_views
    rows = views * images
    if features.shape[0] != rows:
        raise ValueError(f"expected {rows} rows, got {features.shape[0]}")

    z = F.normalize(features.to(self.args.device), dim=1)
    similarities = z @ z.T
    identity = torch.arange(images, device=z.device).repeat(views)
    same_image = identity.unsqueeze(0) == identity.unsqueeze(1)
    itself = torch.eye(rows, dtype=torch.bool, device=z.device)

    positives = similarities[same_image & ~itself].view(rows, views - 1)
    negatives = similarities[~same_image].view(rows, rows - views)
    logits = torch.cat([positives, negatives], dim=1) / self.args.temperature
    labels = torch.zeros_like(logits)
    labels[:, 0] = 1
    return logits, labels
