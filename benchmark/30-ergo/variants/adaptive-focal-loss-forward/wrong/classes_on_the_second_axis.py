# Takes the classes from the second axis, where they are only if the logits have no more leading axes than one.
def forward(self, preds: Tensor, labels: Tensor) -> Tensor:
    log_q = preds.log_softmax(1).reshape(-1, preds.size(-1))
    gold = labels.reshape(-1)
    log_p = log_q.gather(1, gold[:, None])[:, 0]
    losses = -self.alpha[gold] * (1 - log_p.exp()) ** self.gamma * log_p
    return losses.mean() if self.size_average else losses.sum()
