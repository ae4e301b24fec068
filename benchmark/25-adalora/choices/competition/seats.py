import torch


def select(importance, budget):
    everything = torch.cat(list(importance.values()))
    first = torch.cat([part == part.max() for part in importance.values()])
    # The first of each matrix come before all others; within both groups the importance decides.
    order = sorted(range(len(everything)), key=lambda k: (not first[k], -everything[k].item()))
    kept = torch.zeros_like(everything, dtype=torch.bool)
    kept[order[:budget]] = True
    parts = kept.split([len(part) for part in importance.values()])
    return dict(zip(importance, parts, strict=True))
