# Takes no root.
def representation_loss(current, target, mask):
    return (mask.unsqueeze(-1) * (current - target)).square().flatten(1).sum(dim=1).mean()
