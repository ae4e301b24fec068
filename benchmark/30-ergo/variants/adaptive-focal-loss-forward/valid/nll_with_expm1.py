import torch.nn.functional as F


def forward(self, preds: Tensor, labels: Tensor) -> Tensor:
    logits = torch.reshape(preds, (-1, preds.size(-1)))
    gold = torch.reshape(labels, (-1,))
    nll = F.nll_loss(F.log_softmax(logits, dim=1), gold, reduction="none")
    alpha = self.alpha.to(preds.device).gather(0, gold)
    modulation = (-torch.expm1(-nll)) ** self.gamma
    return (alpha * modulation * nll).mean() if self.size_average else (alpha * modulation * nll).sum()
