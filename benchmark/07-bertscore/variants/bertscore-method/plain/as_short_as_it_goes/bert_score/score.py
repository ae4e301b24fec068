# Batches in the order of the arguments.
import torch
from bert_score.idf import idf_weights, uniform_weights
from bert_score_goal import greedy_cos_idf


class BERTScorer:
    def score(self, cands, refs, idf=False, batch_size=16):
        if len(cands) != len(refs):
            raise ValueError("unequal lengths")
        special = self.tokenizer.special_ids
        w = idf_weights([self.tokenizer.encode(r) for r in refs], special) if idf else uniform_weights(special)
        out = []
        for i in range(0, len(cands), batch_size):
            r, h = self.pad(refs[i : i + batch_size], w), self.pad(cands[i : i + batch_size], w)
            out.append(greedy_cos_idf(r.embedding, r.masks, r.weights, h.embedding, h.masks, h.weights))
        return torch.cat(out)
