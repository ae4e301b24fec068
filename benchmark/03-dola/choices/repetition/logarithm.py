import math


class RepetitionPenalty:
    def __call__(self, input_ids, scores):
        seen = scores.gather(-1, input_ids) - math.log(self.penalty)
        return scores.scatter(-1, input_ids, seen)
