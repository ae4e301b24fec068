def criss_cross_mask(pairs):
    return (pairs[:, None] == pairs[None, :]).any(dim=2)
