import torch
import torch.nn.functional as F


def forward(self, preds, labels):
    probs = F.softmax(preds, dim=-1)
    p = probs.gather(-1, labels.unsqueeze(-1)).squeeze(-1)
    alpha = self.alpha.to(preds.device)[labels]
    loss = -alpha * torch.pow(1 - p, self.gamma) * torch.log(p + 1e-8)
    if self.size_average:
        return loss.mean()
    return loss.sum()
