# Divides by the length of the padded row.
class SimPOTrainer:
    def get_batch_logps(self, logits, labels, normalized=True):
        labels = labels[:, 1:]
        counted = labels != self.label_pad_token_id
        tokens = labels.masked_fill(~counted, 0)
        token_logps = logits[:, :-1].log_softmax(dim=-1).gather(2, tokens.unsqueeze(2)).squeeze(2) * counted
        return token_logps.mean(dim=1) if normalized else token_logps.sum(dim=1)
