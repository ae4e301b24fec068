import torch.nn.functional as F


def forward(self, preds: Tensor, labels: Tensor) -> Tensor:
    logits = preds.flatten(0, -2) if preds.dim() > 1 else preds[None]
    gold = labels.flatten()
    ce = F.cross_entropy(logits, gold, reduction="none")
    p = torch.exp(-ce)
    alpha = self.alpha.to(preds.device)
    loss = alpha[gold] * torch.pow(1 - p, self.gamma) * ce
    if self.size_average:
        return loss.mean()
    return loss.sum()
