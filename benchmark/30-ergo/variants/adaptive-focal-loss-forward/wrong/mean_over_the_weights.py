# Divides by the sum of the weights, as a weighted cross-entropy does.
def forward(self, preds: Tensor, labels: Tensor) -> Tensor:
    logits = preds.reshape(-1, preds.size(-1))
    gold = labels.reshape(-1)
    log_q = torch.log_softmax(logits, dim=-1)
    log_p = log_q.gather(1, gold[:, None])[:, 0]
    p = log_p.exp()
    weights = self.alpha.to(preds.device)[gold]
    losses = -weights * (1 - p) ** self.gamma * log_p
    return losses.sum() / weights.sum() if self.size_average else losses.sum()
