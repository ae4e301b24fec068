# Divides by the length of the first axis, which is not the number of pairs if there are more leading axes.
def forward(self, preds: Tensor, labels: Tensor) -> Tensor:
    log_p = preds.log_softmax(-1).gather(-1, labels.reshape(*preds.shape[:-1], 1))
    weights = self.alpha[labels].reshape(log_p.shape)
    total = (-weights * (1 - log_p.exp()) ** self.gamma * log_p).sum()
    return total / len(preds) if self.size_average else total
