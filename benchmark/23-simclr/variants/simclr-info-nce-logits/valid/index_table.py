import torch
from torch import Tensor


def info_nce_loss(self, features: Tensor) -> tuple[Tensor, Tensor]:
    images, views = self.args.batch_size, self.args.n_views
    rows = views * images
    if features.shape[0] != rows:
        raise ValueError(f"expected {rows} rows, got {features.shape[0]}")

    features = features.to(self.args.device)
    lengths = features.square().sum(dim=1, keepdim=True).sqrt()
    z = features / lengths.clamp(min=1e-12)

    i = torch.arange(rows, device=z.device)
    shifts = images * torch.arange(1, views, device=z.device)
    positives = ((i[:, None] + shifts[None, :]) % rows).sort(dim=1).values
    # Column n of a block belongs to image n: leave out the row's own image, then repeat the others for each block.
    others = torch.arange(images - 1, device=z.device).expand(rows, -1)
    others = others + (others >= (i % images)[:, None])
    negatives = (others[:, None, :] + images * torch.arange(views, device=z.device)[None, :, None]).flatten(1)

    columns = torch.cat([positives, negatives], dim=1)
    logits = (z[:, None, :] * z[columns]).sum(dim=-1) / self.args.temperature
    return logits, i.new_zeros(rows)
