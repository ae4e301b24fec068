# Cuts by probabilities, and penalises row by row.
import torch


def relative_top_filter(logits, relative_top):
    probabilities = torch.softmax(logits, dim=-1)
    best = probabilities.max(dim=-1, keepdim=True).values
    plausible = (probabilities >= relative_top * best) | (probabilities == best)
    return torch.log_softmax(logits, dim=-1).where(plausible, torch.tensor(float("-inf"), dtype=logits.dtype))


class RepetitionPenalty:
    def __call__(self, input_ids, scores):
        result = scores.clone()
        for row, ids in enumerate(input_ids):
            seen = ids.unique()
            values = scores[row, seen]
            result[row, seen] = torch.maximum(values, torch.zeros_like(values)) / self.penalty + self.penalty * (
                torch.minimum(values, torch.zeros_like(values))
            )
        return result
