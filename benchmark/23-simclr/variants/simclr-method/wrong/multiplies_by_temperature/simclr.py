# Multiplies similarities by the temperature.
import torch


class SimCLR:
    def info_nce_loss(self, features):
        rows = self.args.n_views * self.args.batch_size
        if len(features) != rows:
            raise ValueError("rows")
        scores = similarity_matrix(features) * self.args.temperature
        image = torch.arange(rows) % self.args.batch_size
        same = image[:, None] == image
        itself = torch.eye(rows, dtype=torch.bool)
        logits = torch.cat([scores[same & ~itself].view(rows, -1), scores[~same].view(rows, -1)], dim=1)
        return logits, torch.zeros(rows, dtype=torch.int64)
