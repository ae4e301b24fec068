import torch
from torch import Tensor


def _columns(row: int, images: int, rows: int) -> tuple[list[int], list[int]]:
    """Rows with other views of the same image, and rows with other images."""
    others = [other for other in range(rows) if other != row]
    positives = [other for other in others if other % images == row % images]
    return positives, [other for other in others if other % images != row % images]


def info_nce_loss(self, features: Tensor) -> tuple[Tensor, Tensor]:
    images, views = self.args.batch_size, self.args.n_views
    rows = views * images
    if features.shape[0] != rows:
        raise ValueError(f"expected {rows} rows, got {features.shape[0]}")

    features = features.to(self.args.device)
    norms = torch.linalg.vector_norm(features, dim=1).clamp_min(1e-12)
    logits = []
    for row in range(rows):
        positives, negatives = _columns(row, images, rows)
        columns = torch.tensor(positives + negatives, device=features.device)
        cosines = (features[columns] / norms[columns].unsqueeze(1)) @ (features[row] / norms[row])
        logits.append(cosines / self.args.temperature)
    return torch.stack(logits), torch.full((rows,), 0, device=features.device)
