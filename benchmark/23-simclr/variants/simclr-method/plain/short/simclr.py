# As short as it goes.
import torch


def similarity_matrix(features):
    z = features / features.norm(dim=1, keepdim=True)
    return z @ z.T


class SimCLR:
    def info_nce_loss(self, features):
        n = self.args.batch_size
        m = n * self.args.n_views
        if len(features) != m:
            raise ValueError("rows")
        s = similarity_matrix(features) / self.args.temperature
        i = torch.arange(m)
        same = (i[:, None] - i) % n == 0
        pos = s[same & (i[:, None] != i)].view(m, -1)
        return torch.cat([pos, s[~same].view(m, -1)], 1), torch.zeros(m).long()

    def _step(self, images):
        logits, labels = self.info_nce_loss(self.model(images))
        loss = self.criterion(logits, labels)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.scheduler.step()
        return [loss.item(), *accuracy(logits, labels, (1, 5))]
