# Vectorised over the subsets; pairs of systems in a square.
import torch
from torch import Tensor


def segment_agreement(scores: Tensor, ratings: Tensor) -> float:
    better = ratings[:, None] > ratings
    higher = scores[:, None] > scores
    concordant, discordant = (better & higher).sum(), (better & higher.transpose(0, 1)).sum()
    return ((concordant - discordant) / (concordant + discordant).double()).item()


def select_systems(metric: Tensor, human: Tensor, subsets: Tensor) -> "Selection":
    scores, ratings = metric[subsets], human[subsets]
    best = ratings.argmax(dim=1, keepdim=True)
    chosen = scores.argmax(dim=1, keepdim=True)
    places = scores.argsort(dim=1, descending=True).argsort(dim=1).gather(1, best) + 1
    loss = ratings.gather(1, best) - ratings.gather(1, chosen)
    return Selection((best == chosen).double().mean().item(), (1 / places.double()).mean().item(), loss.mean().item())
