# All pairs in one list, then the maximum group by group.
import torch
from torch import Tensor


def score_references(scorer, cands, refs, idf=False) -> Tensor:
    owners = torch.tensor([number for number, several in enumerate(refs) for _ in several])
    scores = scorer.score([cands[owner] for owner in owners], [ref for several in refs for ref in several], idf=idf)
    return torch.full((len(cands),), -torch.inf).scatter_reduce(0, owners, scores, "amax")
