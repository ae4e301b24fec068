class SimPOTrainer:
    def get_batch_logps(self, logits, labels, normalized=True):
        labels = labels[:, 1:]
        counted = labels != self.label_pad_token_id
        tokens = labels.masked_fill(~counted, 0)
        token_logps = logits[:, :-1].log_softmax(dim=-1).gather(2, tokens.unsqueeze(2)).squeeze(2)
        sequence_logps = (token_logps * counted).sum(dim=1)
        if not normalized:
            return sequence_logps
        lengths = counted.sum(dim=1).to(logits.dtype)
        return sequence_logps / lengths.sqrt()
