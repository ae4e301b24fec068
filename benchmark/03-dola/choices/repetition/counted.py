import math

import torch


class RepetitionPenalty:
    def __call__(self, input_ids, scores):
        lost = torch.full_like(input_ids, 1, dtype=scores.dtype) * math.log(self.penalty)
        return scores - torch.zeros_like(scores).scatter_add(-1, input_ids, lost)
