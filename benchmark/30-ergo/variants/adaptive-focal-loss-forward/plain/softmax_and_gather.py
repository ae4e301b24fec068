import torch
import torch.nn.functional as F


def forward(self, preds, labels):
    probs = F.softmax(preds, dim=-1)
    p = probs.gather(1, labels.view(-1, 1)).view(-1)
    alpha = self.alpha.to(preds.device).gather(0, labels)
    loss = -alpha * torch.pow(1 - p, self.gamma) * torch.log(p + 1e-8)
    if self.size_average:
        return loss.mean()
    return loss.sum()
