import torch


def forward(self, preds, labels):
    total = 0.0
    for logits, label in zip(preds.flatten(0, -2), labels.flatten().tolist()):
        p = torch.softmax(logits, dim=0)[label]
        total = total - self.alpha[label] * (1 - p) ** self.gamma * torch.log(p)
    if self.size_average:
        total = total / labels.numel()
    return total
