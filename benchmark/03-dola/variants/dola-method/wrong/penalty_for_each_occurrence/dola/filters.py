# Applies the penalty as often as a token occurs.
import torch


class RepetitionPenalty:
    def __call__(self, input_ids, scores):
        counts = torch.zeros_like(scores).scatter_add(-1, input_ids, torch.ones_like(input_ids, dtype=scores.dtype))
        factor = self.penalty**counts
        return torch.where(scores < 0, scores * factor, scores / factor)
