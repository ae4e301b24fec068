import torch


def forward(self, preds, labels):
    total = 0.0
    for logits, label in zip(preds, labels.tolist()):
        p = torch.softmax(logits, dim=0)[label]
        total = total - self.alpha[label] * (1 - p) ** self.gamma * torch.log(p)
    if self.size_average:
        total = total / len(labels)
    return total
