def forward(self, preds: Tensor, labels: Tensor) -> Tensor:
    classes = preds.shape[-1]
    logits = preds.reshape(-1, classes)
    gold = labels.reshape(-1, 1)
    gold_logits = torch.take_along_dim(logits, gold, dim=1)
    log_p = -torch.logsumexp(logits - gold_logits, dim=1)
    p = torch.softmax(logits, dim=1).gather(1, gold).reshape(-1)
    weights = torch.take_along_dim(self.alpha.to(preds.device), gold.reshape(-1), dim=0)
    losses = -(weights * (1.0 - p).pow(self.gamma)) * log_p
    return torch.mean(losses) if self.size_average else torch.sum(losses)
