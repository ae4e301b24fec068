# Written from the paper: terse tensor code.
import math


def relative_top_filter(logits, relative_top):
    lp = logits.log_softmax(-1)
    return lp.masked_fill(lp < lp.max(-1, keepdim=True).values + math.log(relative_top), -math.inf)


class RepetitionPenalty:
    def __call__(self, input_ids, scores):
        s = scores.gather(1, input_ids)
        return scores.scatter(1, input_ids, s.where(s > 0, s * self.penalty).where(s <= 0, s / self.penalty))
