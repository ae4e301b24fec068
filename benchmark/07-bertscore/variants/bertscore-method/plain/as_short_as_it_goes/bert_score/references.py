# One list of pairs, then a maximum for each candidate.
import torch


def score_references(scorer, cands, refs, idf=False):
    flat_cands = [c for c, rs in zip(cands, refs) for _ in rs]
    flat_refs = [r for rs in refs for r in rs]
    scores = scorer.score(flat_cands, flat_refs, idf=idf)
    out, i = [], 0
    for rs in refs:
        out.append(scores[i : i + len(rs)].max())
        i += len(rs)
    return torch.stack(out)
