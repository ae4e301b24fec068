import torch


def select(importance, budget):
    shares = torch.cat([part / part.sum() for part in importance.values()])
    kept = torch.zeros_like(shares, dtype=torch.bool)
    kept[shares.topk(budget).indices] = True
    parts = kept.split([len(part) for part in importance.values()])
    return dict(zip(importance, parts, strict=True))
