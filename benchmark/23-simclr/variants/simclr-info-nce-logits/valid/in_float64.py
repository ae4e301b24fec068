import torch
from torch import Tensor


def info_nce_loss(self, features: Tensor) -> tuple[Tensor, Tensor]:
    images, views = self.args.batch_size, self.args.n_views
    if len(features) != images * views:
        raise ValueError(f"{images * views} rows are needed")

    features = features.to(self.args.device)
    wide = features.double()
    directions = wide / torch.linalg.vector_norm(wide, dim=1, keepdim=True).clamp(min=1e-12)
    logits = directions @ directions.T / self.args.temperature

    indices = range(images * views)
    columns = [
        [j for j in indices if j != i and j % images == i % images] + [j for j in indices if j % images != i % images]
        for i in indices
    ]
    logits = logits.gather(1, torch.tensor(columns, device=logits.device))
    return logits.to(features.dtype), torch.zeros(images * views, dtype=torch.int64, device=logits.device)
