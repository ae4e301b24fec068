# Clamps the probability, which caps the loss.
def forward(self, preds: Tensor, labels: Tensor) -> Tensor:
    logits = preds.reshape(-1, preds.size(-1))
    gold = labels.reshape(-1)
    log_q = torch.log_softmax(logits, dim=-1)
    p = log_q.gather(1, gold[:, None])[:, 0].exp().clamp(1e-7, 1 - 1e-7)
    log_p = p.log()
    weights = self.alpha.to(preds.device)[gold]
    losses = -weights * (1 - p) ** self.gamma * log_p
    return losses.mean() if self.size_average else losses.sum()
