# Candidates by boolean masks, with the similarity inlined; the trainer's step in another order.
import torch


def similarity_matrix(features):
    return torch.nn.functional.cosine_similarity(features.unsqueeze(1), features.unsqueeze(0), dim=-1)


class SimCLR:
    def info_nce_loss(self, features):
        count, views = self.args.batch_size, self.args.n_views
        if len(features) != count * views:
            raise ValueError("wrong number of rows")
        lengths = features.norm(dim=1)
        scores = features @ features.T / torch.outer(lengths, lengths) / self.args.temperature
        image = torch.arange(count).repeat(views)
        same = image[:, None] == image[None, :]
        itself = torch.eye(count * views, dtype=torch.bool)
        positives = scores[same & ~itself].view(count * views, -1)
        negatives = scores[~same].view(count * views, -1)
        logits = torch.cat([positives, negatives], dim=1)
        return logits, torch.zeros(len(logits), dtype=torch.long)

    def _step(self, images):
        self.optimizer.zero_grad()
        logits, labels = self.info_nce_loss(self.model(images.to(self.args.device)))
        loss = self.criterion(logits, labels)
        shares = accuracy(logits, labels, (1, 5))
        loss.backward()
        self.optimizer.step()
        self.scheduler.step()
        return [loss.item()] + shares
