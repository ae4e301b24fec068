# Averages the scores with all references.
import torch


def score_references(scorer, cands, refs, idf=False):
    pairs = [(cand, ref) for cand, several in zip(cands, refs) for ref in several]
    scores = scorer.score(*zip(*pairs), idf=idf)
    return torch.stack([part.mean() for part in scores.split([len(several) for several in refs])])
