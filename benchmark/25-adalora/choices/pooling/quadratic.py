def triplet_importance(value, right, left):
    return value.squeeze(1) + right.square().mean(dim=1).sqrt() + left.square().mean(dim=0).sqrt()
