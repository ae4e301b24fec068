import torch
import torch.nn.functional as F


def forward(self, preds, labels):
    preds = preds.view(-1, preds.size(-1))
    labels = labels.view(-1)
    ce = F.cross_entropy(preds, labels, reduction="none")
    pt = torch.exp(-ce)
    loss = self.alpha.to(preds.device)[labels] * (1 - pt) ** self.gamma * ce
    return loss.mean() if self.size_average else loss.sum()
