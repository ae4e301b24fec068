# Rows of the similarity matrix one by one, and columns by their indices.
import torch


def unit(vector):
    return vector / vector.norm()


def similarity_matrix(features):
    units = [unit(row) for row in features]
    return torch.stack([torch.stack([a @ b for b in units]) for a in units])


class SimCLR:
    def info_nce_loss(self, features):
        count, rows = self.args.batch_size, self.args.batch_size * self.args.n_views
        if len(features) != rows:
            raise ValueError(f"expected {rows} rows")
        scores = similarity_matrix(features) / self.args.temperature
        columns = []
        for i in range(rows):
            own = [j for j in range(i % count, rows, count) if j != i]
            columns.append(own + [j for j in range(rows) if (j - i) % count])
        return scores.gather(1, torch.tensor(columns)), torch.zeros(rows, dtype=torch.int64)
