# Counts the frequencies on references and candidates.
import torch
from bert_score_goal import greedy_cos_idf
from bert_score.idf import idf_weights, uniform_weights


class BERTScorer:
    def score(self, cands, refs, idf=False, batch_size=16):
        special = self.tokenizer.special_ids
        documents = [self.tokenizer.encode(text) for text in [*refs, *cands]]
        weights = idf_weights(documents, special) if idf else uniform_weights(special)
        parts = []
        for start in range(0, len(cands), batch_size):
            ref, hyp = (self.pad(texts[start : start + batch_size], weights) for texts in (refs, cands))
            parts.append(greedy_cos_idf(ref.embedding, ref.masks, ref.weights, hyp.embedding, hyp.masks, hyp.weights))
        return torch.cat(parts)
