# Infers the number of images from the rows, and so accepts a batch that is not full.
import torch
import torch.nn.functional as F
from torch import Tensor


def info_nce_loss(self, features: Tensor) -> tuple[Tensor, Tensor]:
    views = self.args.n_views
    rows = features.shape[0]
    if rows % views:
        raise ValueError(f"{rows} rows are no multiple of {views} views")
    images = rows // views

    z = F.normalize(features.to(self.args.device), dim=1)
    similarities = z @ z.T
    identity = torch.arange(images, device=z.device).repeat(views)
    same_image = identity.unsqueeze(0) == identity.unsqueeze(1)
    itself = torch.eye(rows, dtype=torch.bool, device=z.device)

    positives = similarities[same_image & ~itself].view(rows, views - 1)
    negatives = similarities[~same_image].view(rows, rows - views)
    logits = torch.cat([positives, negatives], dim=1) / self.args.temperature
    labels = torch.zeros(rows, dtype=torch.long, device=z.device)
    return logits, labels
