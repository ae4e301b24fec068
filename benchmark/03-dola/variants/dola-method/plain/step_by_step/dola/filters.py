# Written from the paper: one equation after the other, in probabilities where possible.
import torch


def relative_top_filter(logits, relative_top):
    q = torch.softmax(logits, dim=-1)
    largest, _ = torch.max(q, dim=-1, keepdim=True)
    log_q = torch.log_softmax(logits, dim=-1)
    log_q = log_q.masked_fill(q < relative_top * largest, float("-inf"))
    return log_q


class RepetitionPenalty:
    def __call__(self, input_ids, scores):
        seen = torch.zeros_like(scores, dtype=torch.bool)
        seen.scatter_(1, input_ids, True)
        penalised = torch.where(scores > 0, scores / self.penalty, scores * self.penalty)
        return torch.where(seen, penalised, scores)
