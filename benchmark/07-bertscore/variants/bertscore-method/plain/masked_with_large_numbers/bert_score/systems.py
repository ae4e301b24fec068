# Another style: counts by pairs of systems, ranks by comparison.
import torch
from torch import Tensor


def segment_agreement(scores: Tensor, ratings: Tensor) -> float:
    concordant, discordant = 0, 0
    for first in range(scores.shape[0]):
        for second in range(first + 1, scores.shape[0]):
            human = ratings[first] - ratings[second]
            metric = scores[first] - scores[second]
            valid = human != 0
            agree = torch.sign(human[valid]) == torch.sign(metric[valid])
            concordant += int(agree.sum())
            discordant += int((~agree).sum())
    return (concordant - discordant) / (concordant + discordant)


def select_systems(metric: Tensor, human: Tensor, subsets: Tensor):
    hits, ranks, diffs = [], [], []
    for indices in subsets:
        metric_scores = metric[indices]
        human_scores = human[indices]
        metric_best = torch.argmax(metric_scores)
        human_best = torch.argmax(human_scores)
        order = torch.argsort(metric_scores, descending=True)
        rank = (order == human_best).nonzero().item() + 1
        hits.append(1.0 if metric_best == human_best else 0.0)
        ranks.append(1.0 / rank)
        diffs.append((human_scores[human_best] - human_scores[metric_best]).item())
    return Selection(
        hits=sum(hits) / len(hits), reciprocal_rank=sum(ranks) / len(ranks), difference=sum(diffs) / len(diffs)
    )
