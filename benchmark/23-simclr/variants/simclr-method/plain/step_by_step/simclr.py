# Each step in names of its own.
import torch
import torch.nn.functional as F


def similarity_matrix(features):
    return F.cosine_similarity(features[:, None, :], features[None, :, :], dim=2)


class SimCLR:
    def info_nce_loss(self, features):
        num_images = self.args.batch_size
        num_rows = self.args.n_views * num_images
        if features.shape[0] != num_rows:
            raise ValueError(f"expected {num_rows} rows, got {features.shape[0]}")
        scores = similarity_matrix(features) / self.args.temperature
        rows = []
        for row in range(num_rows):
            positive_columns = []
            negative_columns = []
            for column in range(num_rows):
                if column == row:
                    continue
                if column % num_images == row % num_images:
                    positive_columns.append(column)
                else:
                    negative_columns.append(column)
            rows.append(scores[row, positive_columns + negative_columns])
        logits = torch.stack(rows)
        labels = torch.zeros(num_rows, dtype=torch.long, device=logits.device)
        return logits, labels

    def _step(self, images):
        images = images.to(self.args.device)
        projections = self.model(images)
        logits, labels = self.info_nce_loss(projections)
        loss = self.criterion(logits, labels)
        top1, top5 = accuracy(logits, labels, top_k=(1, 5))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.scheduler.step()
        return [loss.item(), top1, top5]
