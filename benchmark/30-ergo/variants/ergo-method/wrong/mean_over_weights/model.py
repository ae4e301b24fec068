# Divides by the sum of the weights.
class focal_loss:
    def forward(self, preds, labels):
        gold = labels.reshape(-1)
        log_p = pair_log_probs(preds.reshape(-1, preds.size(-1)), gold)
        losses = -self.alpha[gold] * modulating_factor(log_p, self.gamma) * log_p
        return losses.sum() / self.alpha[gold].sum() if self.size_average else losses.sum()
