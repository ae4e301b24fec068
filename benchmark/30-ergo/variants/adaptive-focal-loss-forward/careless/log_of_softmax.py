# Takes the logarithm of the softmax: infinite where it underflows.
def forward(self, preds: Tensor, labels: Tensor) -> Tensor:
    logits = preds.reshape(-1, preds.size(-1))
    gold = labels.reshape(-1)
    log_q = torch.softmax(logits, dim=-1).log()
    log_p = log_q.gather(1, gold[:, None])[:, 0]
    p = log_p.exp()
    weights = self.alpha.to(preds.device)[gold]
    losses = -weights * (1 - p) ** self.gamma * log_p
    return losses.mean() if self.size_average else losses.sum()
