def triplet_importance(value, right, left):
    return value.squeeze(1) + right.amax(dim=1) + left.amax(dim=0)
