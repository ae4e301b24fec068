import torch
import torch.nn.functional as F


def forward(self, preds, labels):
    ce = F.cross_entropy(preds, labels, reduction="none")
    pt = torch.exp(-ce)
    loss = self.alpha.to(preds.device)[labels] * (1 - pt) ** self.gamma * ce
    return loss.mean() if self.size_average else loss.sum()
