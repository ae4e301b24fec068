def representation_loss(current, target, mask):
    distances = (mask.unsqueeze(-1) * (current - target)).norm(dim=-1)
    return (distances.sum(dim=1) / mask.sum(dim=1)).mean()
