# Takes one norm over the whole batch.
def representation_loss(current, target, mask):
    return (mask.unsqueeze(-1) * (current - target)).norm()
