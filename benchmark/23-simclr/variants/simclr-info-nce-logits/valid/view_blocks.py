import torch
import torch.nn.functional as F
from torch import Tensor


def info_nce_loss(self, features: Tensor) -> tuple[Tensor, Tensor]:
    images, views = self.args.batch_size, self.args.n_views
    rows = views * images
    if features.shape[0] != rows:
        raise ValueError(f"expected {rows} rows, got {features.shape[0]}")

    # (v, N, d): the axes of the four-dimensional table are view and image of the row, view and image of the column.
    z = F.normalize(features.to(self.args.device), dim=1).unflatten(0, (views, images))
    table = torch.einsum("and,bmd->anbm", z, z) / self.args.temperature

    own = table.diagonal(dim1=1, dim2=3)  # (a, b, n)
    positives = torch.stack([own[a, [b for b in range(views) if b != a]] for a in range(views)])  # (v, v - 1, N)
    positives = positives.transpose(1, 2).flatten(0, 1)
    negatives = torch.stack(
        [table[:, n][..., [m for m in range(images) if m != n]].flatten(1) for n in range(images)], dim=1
    ).flatten(0, 1)
    logits = torch.hstack([positives, negatives])
    return logits, torch.zeros(logits.size(0), dtype=torch.int64, device=logits.device)
