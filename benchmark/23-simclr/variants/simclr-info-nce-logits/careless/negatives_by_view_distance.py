# Starts the negatives of a row after the row itself and goes round, instead of in index order.
import torch
import torch.nn.functional as F


def info_nce_loss(self, features):
    images, views = self.args.batch_size, self.args.n_views
    rows = images * views
    if len(features) != rows:
        raise ValueError(f"expected {rows} rows, got {len(features)}")
    directions = F.normalize(features.to(self.args.device), dim=1)
    similarities = directions @ directions.T
    following = (torch.arange(rows).unsqueeze(1) + torch.arange(1, rows)) % rows
    other_image = torch.arange(1, rows) % images != 0
    positives = following[:, ~other_image].sort(dim=1).values
    columns = torch.cat([positives, following[:, other_image]], dim=1)
    return similarities.gather(1, columns) / self.args.temperature, torch.zeros(rows, dtype=torch.int64)
