# Divides negative scores by the penalty as well, which raises them.
class RepetitionPenalty:
    def __call__(self, input_ids, scores):
        return scores.scatter(-1, input_ids, scores.gather(-1, input_ids) / self.penalty)
