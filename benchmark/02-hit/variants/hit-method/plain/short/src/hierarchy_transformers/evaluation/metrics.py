# As short as it goes.
import torch


def subsumption_score(manifold, child, parent, norm_weight):
    return -(manifold.dist(child, parent) + norm_weight * (manifold.dist0(parent) - manifold.dist0(child)))


def calibrate(model, pairs):
    y = torch.tensor([p.holds for p in pairs])
    best, rule = -1, None
    for w in NORM_WEIGHTS:
        s = subsumption_scores(model, pairs, w)
        for t in s.sort(descending=True).values:
            a = s >= t
            f1 = (2 * (a & y).sum() / (a.sum() + y.sum())).item()
            if f1 > best:
                best, rule = f1, PredictionRule(w, t.item())
    return rule, best
