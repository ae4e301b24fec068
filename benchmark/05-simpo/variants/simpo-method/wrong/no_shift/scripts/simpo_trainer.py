# Scores each token by the logits at its own position.
class SimPOTrainer:
    def get_batch_logps(self, logits, labels, normalized=True):
        counted = labels != self.label_pad_token_id
        tokens = labels.masked_fill(~counted, 0)
        token_logps = logits.log_softmax(dim=-1).gather(2, tokens.unsqueeze(2)).squeeze(2)
        sums = (token_logps * counted).sum(dim=1)
        return sums / counted.sum(dim=1) if normalized else sums
