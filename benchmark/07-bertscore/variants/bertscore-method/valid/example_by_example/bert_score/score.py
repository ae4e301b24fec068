# Pair by pair, whatever the size of a batch.
import torch
from bert_score_goal import greedy_cos_idf
from torch import Tensor

from bert_score.idf import idf_weights, uniform_weights


class BERTScorer:
    def score(self, cands, refs, idf=False, batch_size=16) -> Tensor:
        if len(cands) != len(refs):
            raise ValueError("candidates and references do not belong together")
        special = self.tokenizer.special_ids
        weights = idf_weights(list(map(self.tokenizer.encode, refs)), special) if idf else uniform_weights(special)
        scores = []
        for cand, ref in zip(cands, refs):
            sides = [self.pad([text], weights) for text in (ref, cand)]
            scores.append(greedy_cos_idf(*(part for side in sides for part in vars(side).values())))
        return torch.cat(scores)
