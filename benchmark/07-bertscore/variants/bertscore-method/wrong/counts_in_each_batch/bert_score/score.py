# Counts the frequencies on the references of each batch by itself.
import torch
from bert_score_goal import greedy_cos_idf
from bert_score.idf import idf_weights, uniform_weights


class BERTScorer:
    def score(self, cands, refs, idf=False, batch_size=16):
        special = self.tokenizer.special_ids
        parts = []
        for start in range(0, len(cands), batch_size):
            some = refs[start : start + batch_size]
            documents = [self.tokenizer.encode(text) for text in some]
            weights = idf_weights(documents, special) if idf else uniform_weights(special)
            ref, hyp = self.pad(some, weights), self.pad(cands[start : start + batch_size], weights)
            parts.append(greedy_cos_idf(ref.embedding, ref.masks, ref.weights, hyp.embedding, hyp.masks, hyp.weights))
        return torch.cat(parts)
