import torch.nn.functional as F


def forward(self, preds: Tensor, labels: Tensor) -> Tensor:
    classes = preds.shape[-1]
    logits = preds.reshape(-1, classes)
    is_gold = F.one_hot(labels.reshape(-1), classes).to(preds.dtype)
    log_q = F.log_softmax(logits, dim=-1)
    log_p = (is_gold * log_q).sum(-1)
    p = (is_gold * log_q.exp()).sum(-1)
    weights = is_gold.to(torch.promote_types(preds.dtype, self.alpha.dtype)) @ self.alpha.to(
        device=preds.device, dtype=torch.promote_types(preds.dtype, self.alpha.dtype)
    )
    total = (weights * (1 - p) ** self.gamma * -log_p).sum()
    return total / labels.numel() if self.size_average else total
